"""Uniformity analysis, on small functions of eight lanes."""

from __future__ import annotations

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Affine,
    Constant,
    PrivateLayout,
    analyse_uniformity,
    join,
    make_affine,
    to_affine,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function

WIDTH = 8
SOURCES = {
    "lane": lambda call, info: Constant(tuple(range(WIDTH))),
    "x": lambda call, info: Affine(1),
    "sum": lambda call, info: UNIFORM,
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


def analyse_body(body: str, layout: PrivateLayout | None = None):
    function = read_function(Module(f"{HEAD}{body}\n}}\n").function("f"))
    return analyse_uniformity(function, flow_of(function), WIDTH, SOURCES, layout)


def get_uniformity(body: str, layout: PrivateLayout | None = None):
    """Return the uniformity of the value that the last line of a body defines."""
    name = body.strip().rpartition("\n")[2].split(" = ")[0].strip()
    return analyse_body(f"{body}\n  ret void", layout).by_name[name]


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("%r = add i32 %n, 1", UNIFORM),
        ("%r = add i32 %x, %n", Affine(1)),
        ("%r = sub i32 %n, %x", Affine(-1)),
        ("%r = sub i32 %x, %x", UNIFORM),
        ("%r = mul i32 %x, 12", Affine(12)),
        ("%r = shl i32 %x, 3", Affine(8)),
        ("%r = mul i32 %x, %n", VARYING),
        ("%r = or disjoint i32 %x, %n", Affine(1)),
        ("%r = or i32 %x, %n", VARYING),
        ("%r = trunc i32 %x to i16", Affine(1)),
        ("%r = zext nneg i32 %x to i64", Affine(1)),
        ("%r = and i32 %lane, 3", Constant((0, 1, 2, 3) * 2)),
        ("%r = icmp ult i32 %lane, 2", Constant((1, 1, 0, 0, 0, 0, 0, 0))),
        ("%r = icmp ult i32 %x, %n", VARYING),
        ("%r = xor i32 %lane, 1", Constant((1, 0, 3, 2, 5, 4, 7, 6))),
        ("%r = add i32 %lane, %n", Affine(1)),
        ("%r = udiv i32 5, %lane", Constant((0, 5, 2, 1, 1, 1, 0, 0))),
        ("%r = select i1 %c, i32 %x, i32 %lane", Affine(1)),
        ("%r = sitofp i32 %x to float", VARYING),
        ("%r = load float, ptr %p, align 4", UNIFORM),
        ("%r = atomicrmw add ptr %p, i32 1 monotonic, align 4", VARYING),
        ("%r = insertelement <2 x i32> poison, i32 %x, i64 0", VARYING),
    ],
)
def test_instructions(line, shape):
    assert get_uniformity(f"  {line}") == shape


def test_sums_with_possible_overflow_before_extension_are_checked():
    assert get_uniformity("  %a = add i32 %x, %n\n  %r = zext i32 %a to i64") == Affine(
        1, checked=True
    )
    assert get_uniformity("  %a = add nuw i32 %x, %n\n  %r = zext i32 %a to i64") == Affine(1)
    assert get_uniformity("  %a = add nuw i32 %x, %n\n  %r = sext i32 %a to i64") == Affine(
        1, checked=True
    )
    further = "  %a = add i32 %x, %n\n  %w = zext i32 %a to i64\n  %r = shl i64 %w, 2"
    assert get_uniformity(further) == Affine(4, checked=True)


def test_a_part_of_an_integer_has_the_stride_of_this_part():
    # A calling convention passes a struct of two integers as one.
    wide = "  %w = zext nneg i32 %x to i64\n"
    both = wide + "  %h = shl i64 %w, 32\n  %b = or disjoint i64 %h, %w\n"
    assert get_uniformity(both + "  %r = freeze i64 %b") == Affine(2**32 + 1)
    assert get_uniformity(both + "  %r = trunc i64 %b to i32") == Affine(1)
    assert get_uniformity(wide + "  %m = mul i64 %w, -3\n  %r = trunc i64 %m to i32") == Affine(-3)
    assert get_uniformity(wide + "  %m = mul i64 %w, 256\n  %r = trunc i64 %m to i8") == UNIFORM


def test_addresses_have_strides_in_bytes():
    wide = "  %i = zext nneg i32 %x to i64\n"
    assert get_uniformity(wide + "  %r = getelementptr float, ptr %p, i64 %i") == Affine(4)
    nested = "  %r = getelementptr [3 x { i32, <4 x half> }], ptr %p, i64 %i, i64 1, i32 1"
    assert get_uniformity(wide + nested) == Affine(48)
    assert get_uniformity("  %r = getelementptr float, ptr %p, i32 %x") == VARYING
    at = wide + "  %q = getelementptr float, ptr %p, i64 %i\n  %r = load float, ptr %q, align 4"
    assert get_uniformity(at) == VARYING


def test_private_memory_is_uniform_unless_it_is_per_lane():
    body = "  %a = alloca [4 x float], align 4\n  %r = getelementptr float, ptr %a, i64 2"
    assert get_uniformity(body) == UNIFORM
    assert get_uniformity(body, PrivateLayout({"%a": 16})) == Affine(16)
    interleaved = PrivateLayout({"%a": 4}, frozenset({"%a"}))
    assert get_uniformity(body, interleaved) == Affine(4)
    own = "  %a = alloca [4 x float], align 4\n  %w = zext nneg i32 %x to i64\n"
    own += "  %r = getelementptr float, ptr %a, i64 %w"
    assert get_uniformity(own, interleaved) == Affine(4 + 4 * WIDTH)


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


def test_phis_of_divergent_branches_vary():
    apart = analyse_body(BRANCH.format(condition="%d"))
    assert (apart.by_name["%one"], apart.by_name["%r"], apart.by_name["%same"]) == (
        UNIFORM,
        VARYING,
        UNIFORM,
    )
    assert {each.name for each in apart.divergence.masked} == {"%then", "%else"}
    together = analyse_body(BRANCH.format(condition="%c"))
    assert together.by_name["%r"] is UNIFORM
    assert not together.divergence.masked


def test_flags_do_not_hold_for_inactive_lanes():
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
    assert analyse_body(body).by_name["%w"] == Affine(1, checked=True)


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


def test_temporal_divergence_after_a_loop():
    together = analyse_body(LOOP.format(most="%n"))
    assert (together.by_name["%next"], together.by_name["%after"]) == (UNIFORM, UNIFORM)
    apart = analyse_body(LOOP.format(most="%x"))
    assert (apart.by_name["%next"], apart.by_name["%after"]) == (UNIFORM, VARYING)
    (loop,) = apart.divergence.divergent_loops
    assert loop.header.name == "%loop"
    assert {each.name for each in apart.divergence.masked} == {"%loop"}


def test_affine_induction_variables():
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
    found = analyse_body(body)
    assert (found.by_name["%i"], found.by_name["%next"]) == (Affine(1), Affine(1))
    assert not found.divergence.masked


def test_divergence_may_be_found_in_a_later_round():
    body = """
  br label %loop
loop:
  %v = phi i32 [ %n, %entry ], [ %x, %loop ]
  %go = icmp ult i32 %v, %n
  br i1 %go, label %loop, label %end
end:
  ret void"""
    found = analyse_body(body)
    assert found.by_name["%v"] is VARYING
    assert {each.name for each in found.divergence.masked} == {"%loop"}


def test_the_lattice():
    some = [
        UNIFORM,
        VARYING,
        Affine(4),
        Affine(8),
        Affine(4, checked=True),
        Constant((0, 4, 8, 12)),
    ]
    some.append(Constant((0, 1, 0, 1)))
    for one in some:
        assert join(one, one) == one
        for other in some:
            both = join(one, other)
            assert both == join(other, one)
            assert VARYING in (both,) or join(both, one) == both
            for third in some:
                assert join(both, third) == join(one, join(other, third))
    assert join(Affine(4), Constant((0, 4, 8, 12))) == Affine(4)
    assert to_affine(Constant((3, 3, 3))) is UNIFORM
    assert make_affine(0) is UNIFORM


@pytest.mark.parametrize(
    ("one", "other", "shape"),
    [
        ("add i32 %n, 1", "add i32 %n, 1", UNIFORM),
        ("add i32 %n, 1", "add i32 %n, 2", VARYING),
        ("add i32 %n, 1", "sub i32 %n, 1", VARYING),
        ("freeze i32 %n", "freeze i32 %n", VARYING),
        ("add i32 %x, 1", "add i32 %x, 1", Affine(1)),
        ("load i32, ptr %p", "load i32, ptr %p", VARYING),
    ],
)
def test_value_numbering_across_branches(one, other, shape):
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
    assert get_uniformity(body) == shape


def test_value_numbering_through_nested_phis():
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
    assert get_uniformity(body) == UNIFORM


def test_a_phi_cycle_that_begins_with_undefined_values():
    """A struct of three ints in one i128: each iteration keeps undefined bits."""
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
    info = analyse_body(body).by_name
    assert {info[name] for name in ("%kept", "%rest", "%next")} == {VARYING}
