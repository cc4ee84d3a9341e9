"""Shapes of values, on small functions of eight lanes."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.read import read_function
from metalbench.msl.vector.analysis import Layout, analyse
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Known, Linear, as_linear, join, strided

WIDTH = 8
SOURCES = {
    "lane": lambda call, shapes: Known(tuple(range(WIDTH))),
    "x": lambda call, shapes: Linear(1),
    "sum": lambda call, shapes: UNIFORM,
}
HEAD = """
declare i32 @lane()
declare i32 @x()
declare float @sum(float)
declare float @llvm.sqrt.f32(float)
define void @f(ptr %p, i32 %n, i1 %c) {
entry:
  %lane = call i32 @lane()
  %x = call i32 @x()
"""


def shapes_of(body: str, layout: Layout | None = None):
    function = read_function(f"{HEAD}{body}\n}}\n", "f")
    return analyse(function, flow_of(function), WIDTH, SOURCES, layout)


def shape_of(body: str, layout: Layout | None = None):
    """Of the value that a body's last line gives."""
    name = body.strip().rpartition("\n")[2].split(" = ")[0].strip()
    return shapes_of(f"{body}\n  ret void", layout).shapes[name]


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("%r = add i32 %n, 1", UNIFORM),
        ("%r = add i32 %x, %n", Linear(1)),
        ("%r = sub i32 %n, %x", Linear(-1)),
        ("%r = sub i32 %x, %x", UNIFORM),
        ("%r = mul i32 %x, 12", Linear(12)),
        ("%r = shl i32 %x, 3", Linear(8)),
        ("%r = mul i32 %x, %n", VARYING),
        ("%r = or disjoint i32 %x, %n", Linear(1)),
        ("%r = or i32 %x, %n", VARYING),
        ("%r = trunc i32 %x to i16", Linear(1)),
        ("%r = zext nneg i32 %x to i64", Linear(1)),
        ("%r = and i32 %lane, 3", Known((0, 1, 2, 3) * 2)),
        ("%r = icmp ult i32 %lane, 2", Known((1, 1, 0, 0, 0, 0, 0, 0))),
        ("%r = icmp ult i32 %x, %n", VARYING),
        ("%r = xor i32 %lane, 1", Known((1, 0, 3, 2, 5, 4, 7, 6))),
        ("%r = add i32 %lane, %n", Linear(1)),
        ("%r = udiv i32 5, %lane", Known((0, 5, 2, 1, 1, 1, 0, 0))),
        ("%r = select i1 %c, i32 %x, i32 %lane", Linear(1)),
        ("%r = sitofp i32 %x to float", VARYING),
        ("%r = load float, ptr %p, align 4", UNIFORM),
        ("%r = atomicrmw add ptr %p, i32 1 monotonic, align 4", VARYING),
        ("%r = insertelement <2 x i32> poison, i32 %x, i64 0", VARYING),
    ],
)
def test_instructions(line, shape):
    assert shape_of(f"  {line}") == shape


def test_sums_that_may_wrap_before_they_are_widened_are_checked():
    assert shape_of("  %a = add i32 %x, %n\n  %r = zext i32 %a to i64") == Linear(1, checked=True)
    assert shape_of("  %a = add nuw i32 %x, %n\n  %r = zext i32 %a to i64") == Linear(1)
    assert shape_of("  %a = add nuw i32 %x, %n\n  %r = sext i32 %a to i64") == Linear(
        1, checked=True
    )
    further = "  %a = add i32 %x, %n\n  %w = zext i32 %a to i64\n  %r = shl i64 %w, 2"
    assert shape_of(further) == Linear(4, checked=True)


def test_addresses_have_strides_in_bytes():
    wide = "  %i = zext nneg i32 %x to i64\n"
    assert shape_of(wide + "  %r = getelementptr float, ptr %p, i64 %i") == Linear(4)
    nested = "  %r = getelementptr [3 x { i32, <4 x half> }], ptr %p, i64 %i, i64 1, i32 1"
    assert shape_of(wide + nested) == Linear(48)
    assert shape_of("  %r = getelementptr float, ptr %p, i32 %x") == VARYING
    at = wide + "  %q = getelementptr float, ptr %p, i64 %i\n  %r = load float, ptr %q, align 4"
    assert shape_of(at) == VARYING


def test_private_memory_is_uniform_unless_every_lane_has_its_own():
    body = "  %a = alloca [4 x float], align 4\n  %r = getelementptr float, ptr %a, i64 2"
    assert shape_of(body) == UNIFORM
    assert shape_of(body, Layout({"%a": 16})) == Linear(16)
    interleaved = Layout({"%a": 4}, frozenset({"%a"}))
    assert shape_of(body, interleaved) == Linear(4)
    own = "  %a = alloca [4 x float], align 4\n  %w = zext nneg i32 %x to i64\n"
    own += "  %r = getelementptr float, ptr %a, i64 %w"
    assert shape_of(own, interleaved) == Linear(4 + 4 * WIDTH)


BRANCH = """
  %d = icmp ult i32 %x, %n
  br i1 {condition}, label %then, label %else
then:
  %one = add i32 %n, 1
  br label %meet
else:
  br label %meet
meet:
  %r = phi i32 [ %one, %then ], [ %n, %else ]
  %same = phi i32 [ %n, %then ], [ %n, %else ]
  ret void"""


def test_values_of_different_ways_vary_where_lanes_parted():
    apart = shapes_of(BRANCH.format(condition="%d"))
    assert (apart.shapes["%one"], apart.shapes["%r"], apart.shapes["%same"]) == (
        UNIFORM,
        VARYING,
        UNIFORM,
    )
    assert {each.name for each in apart.divergence.masked} == {"%then", "%else"}
    together = shapes_of(BRANCH.format(condition="%c"))
    assert together.shapes["%r"] is UNIFORM
    assert not together.divergence.masked


def test_flags_say_nothing_of_lanes_that_are_not_active():
    body = """
  %d = icmp ult i32 %x, %n
  br i1 %d, label %then, label %end
then:
  %a = sub nuw i32 %n, %x
  %b = add nuw i32 %x, %n
  %w = zext i32 %b to i64
  br label %end
end:
  ret void"""
    assert shapes_of(body).shapes["%w"] == Linear(1, checked=True)


LOOP = """
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %go = icmp ult i32 %next, {most}
  br i1 %go, label %loop, label %end
end:
  %after = add i32 %next, 0
  ret void"""


def test_what_is_left_of_a_loop_varies_where_lanes_left_it_at_different_times():
    together = shapes_of(LOOP.format(most="%n"))
    assert (together.shapes["%next"], together.shapes["%after"]) == (UNIFORM, UNIFORM)
    apart = shapes_of(LOOP.format(most="%x"))
    assert (apart.shapes["%next"], apart.shapes["%after"]) == (UNIFORM, VARYING)
    (loop,) = apart.divergence.loops
    assert loop.header.name == "%loop"
    assert {each.name for each in apart.divergence.masked} == {"%loop"}


def test_a_loop_may_carry_what_is_linear():
    body = """
  br label %loop
loop:
  %i = phi i32 [ %x, %entry ], [ %next, %loop ]
  %next = add i32 %i, 64
  %lap = phi i32 [ 0, %entry ], [ %more, %loop ]
  %more = add i32 %lap, 1
  %go = icmp ult i32 %more, %n
  br i1 %go, label %loop, label %end
end:
  ret void"""
    found = shapes_of(body)
    assert (found.shapes["%i"], found.shapes["%next"]) == (Linear(1), Linear(1))
    assert not found.divergence.masked


def test_what_makes_a_loop_diverge_may_come_late():
    body = """
  br label %loop
loop:
  %v = phi i32 [ %n, %entry ], [ %x, %loop ]
  %go = icmp ult i32 %v, %n
  br i1 %go, label %loop, label %end
end:
  ret void"""
    found = shapes_of(body)
    assert found.shapes["%v"] is VARYING
    assert {each.name for each in found.divergence.masked} == {"%loop"}


def test_the_lattice():
    some = [UNIFORM, VARYING, Linear(4), Linear(8), Linear(4, checked=True), Known((0, 4, 8, 12))]
    some.append(Known((0, 1, 0, 1)))
    for one in some:
        assert join(one, one) == one
        for other in some:
            both = join(one, other)
            assert both == join(other, one)
            assert VARYING in (both,) or join(both, one) == both
            for third in some:
                assert join(both, third) == join(one, join(other, third))
    assert join(Linear(4), Known((0, 4, 8, 12))) == Linear(4)
    assert as_linear(Known((3, 3, 3))) is UNIFORM
    assert strided(0) is UNIFORM


@pytest.mark.parametrize(
    ("one", "other", "shape"),
    [
        ("add i32 %n, 1", "add i32 %n, 1", UNIFORM),
        ("add i32 %n, 1", "add i32 %n, 2", VARYING),
        ("add i32 %n, 1", "sub i32 %n, 1", VARYING),
        ("freeze i32 %n", "freeze i32 %n", VARYING),
        ("add i32 %x, 1", "add i32 %x, 1", Linear(1)),
        ("load i32, ptr %p", "load i32, ptr %p", VARYING),
    ],
)
def test_what_is_computed_alike_on_ways_of_their_own_is_one_value(one, other, shape):
    body = f"""
  %part = icmp ult i32 %x, %n
  br i1 %part, label %yes, label %no
yes:
  %a = {one}
  br label %both
no:
  %b = {other}
  br label %both
both:
  %r = phi i32 [ %a, %yes ], [ %b, %no ]"""
    assert shape_of(body) == shape


def test_what_comes_together_twice_is_one_value_too():
    body = """
  %part = icmp ult i32 %x, %n
  br i1 %part, label %yes, label %no
yes:
  %a = add i32 %n, 1
  br i1 %part, label %late, label %both
no:
  %b = add i32 %n, 1
  br label %late
late:
  %l = phi i32 [ %a, %yes ], [ %b, %no ]
  br label %both
both:
  %r = phi i32 [ %a, %yes ], [ %l, %late ]"""
    assert shape_of(body) == UNIFORM


def test_a_cycle_that_begins_with_nothing_has_what_goes_into_it():
    """A struct of three ints in one i128: each turn keeps the bits that nothing has given."""
    body = """
  br label %loop
loop:
  %kept = phi i64 [ undef, %entry ], [ %next, %loop ]
  %wide = zext i32 %lane to i64
  %odd = mul i64 %wide, %wide
  %rest = and i64 %kept, -4294967296
  %next = or disjoint i64 %odd, %rest
  br i1 %c, label %loop, label %end
end:
  ret void"""
    shapes = shapes_of(body).shapes
    assert {shapes[name] for name in ("%kept", "%rest", "%next")} == {VARYING}
