"""Bounds-guard analysis: targets that lanes never take all together, near ends of arrays."""

from __future__ import annotations

import pytest

from metalbench.msl.analysis.bounds_guards import BoundsGuards
from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.uniformity import VARYING, Affine, Constant, analyse_uniformity
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function

WIDTH = 8
SHAPES = {
    "x": lambda call, given: Affine(4),
    "any": lambda call, given: VARYING,
    "lane": lambda call, given: Constant(tuple(range(WIDTH))),
}
HEAD = """
declare i32 @x()
declare i32 @any()
declare i32 @lane()
declare void @use()
define void @f(i32 %n, i32 %m) {
entry:
  %x = call i32 @x()
  %any = call i32 @any()
  %lane = call i32 @lane()
"""


def find_guards(body: str) -> tuple[BoundsGuards, dict]:
    function = read_function(Module(f"{HEAD}{body}\n}}\n").function("f"))
    flow = flow_of(function)
    info = analyse_uniformity(function, flow, WIDTH, SHAPES)
    found = BoundsGuards(function, flow, info, WIDTH)
    return found, {name.removeprefix("%"): block for name, block in function.blocks.items()}


def find_never_unanimous(body: str, block: str, *, proven: bool = False) -> set[str]:
    """Return the targets of a block's branch that are never unanimous."""
    found, blocks = find_guards(body)
    ways = blocks[block].successors
    return {
        each.name.removeprefix("%")
        for each in ways
        if found.is_never_unanimous(blocks[block], each, proven=proven)
    }


# Four elements where there are four, and the second of them where there is one.
TAIL = """
  %four = add i32 VALUE, 4
  %whole = icmp FIRST i32 %four, %n
  br i1 %whole, label %all, label %rest
all:
  br label %end
rest:
  %second = or disjoint i32 VALUE, 1
  %is = icmp SECOND
  br i1 %is, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""


def tail(value: str = "%x", first: str = "ule", second: str = "ult i32 %second, %n") -> str:
    parts = {"VALUE": value, "FIRST": first, "SECOND": second}
    text = TAIL
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


@pytest.mark.parametrize("value", ["%x", "%any"])
@pytest.mark.parametrize("first", ["ule", "sle", "ult"])
@pytest.mark.parametrize(
    "second", ["ult i32 %second, %n", "ugt i32 %n, %second", "ule i32 %second, %n"]
)
def test_single_elements_of_an_incomplete_group(value, first, second):
    assert find_never_unanimous(tail(value, first, second), "rest") == {"one"}


def test_affine_lanes_are_proven():
    assert find_never_unanimous(tail("%x"), "rest", proven=True) == {"one"}
    assert find_never_unanimous(tail("%any"), "rest", proven=True) == set()


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ("%x", "ult i32 %second, %m"),  # another end
        ("%x", "uge i32 %second, %n"),  # beyond the end all lanes may be
        ("%x", "ult i32 %any, %n"),  # another value
        ("%m", "ult i32 %second, %n"),  # which all have
    ],
)
def test_targets_that_all_lanes_may_take(value, second):
    assert "one" not in find_never_unanimous(tail(value, second=second), "rest")


@pytest.mark.parametrize(("room", "is_narrow"), [(1, True), (28, True), (29, False)])
def test_affine_lanes_need_their_extent(room, is_narrow):
    """Eight lanes with stride four need 29 elements before the end."""
    found = find_never_unanimous(
        f"""
  %in = icmp ult i32 %x, %n
  br i1 %in, label %some, label %end
some:
  %far = add i32 %x, {room}
  %out = icmp uge i32 %far, %n
  br i1 %out, label %near, label %end
near:
  call void @use()
  br label %end
end:
  ret void""",
        "some",
    )
    assert ("near" in found) is is_narrow


def test_bounds_of_an_induction_variable():
    body = """
  %in = icmp ult i32 %x, %n
  br i1 %in, label %turn, label %end
turn:
  %at = phi i32 [ %x, %entry ], [ %next, %after ]
  %four = add i32 %at, 4
  %over = icmp ugt i32 %four, %n
  br i1 %over, label %rest, label %after
rest:
  call void @use()
  br label %after
after:
  %next = add i32 %at, 32
  %more = icmp ult i32 %next, %n
  br i1 %more, label %turn, label %end
end:
  ret void"""
    assert find_never_unanimous(body, "turn") == {"rest"}
    # Not if lanes come to the loop wherever they are.
    assert (
        find_never_unanimous(
            body.replace("br i1 %in, label %turn, label %end", "br label %turn"), "turn"
        )
        == set()
    )


@pytest.mark.parametrize(("value", "ways"), [("%x", {"one"}), ("%any", set())])
def test_equality_holds_for_one_affine_lane(value, ways):
    body = f"""
  %is = icmp eq i32 {value}, %n
  br i1 %is, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert find_never_unanimous(body, "entry") == ways


def test_compound_conditions():
    body = """
  %a = icmp ult i32 %x, %n
  %b = icmp ult i32 %any, %m
  %both = select i1 %a, i1 %b, i1 false
  br i1 %both, label %in, label %end
in:
  %four = add i32 %x, 4
  %over = icmp ugt i32 %four, %n
  %or = or i1 %over, %b
  br i1 %over, label %rest, label %end
rest:
  call void @use()
  br label %end
end:
  ret void"""
    assert find_never_unanimous(body, "in") == {"rest"}
    either = body.replace("select i1 %a, i1 %b, i1 false", "select i1 %a, i1 true, i1 %b")
    assert find_never_unanimous(either, "in") == set()


def test_different_constants_are_never_unanimous():
    body = """
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert find_never_unanimous(body, "entry") == {"one", "end"}


def test_equal_constants_are_unanimous():
    body = """
  %in = icmp ult i32 %lane, 8
  br i1 %in, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert find_never_unanimous(body, "entry") == set()


def test_a_switch_with_several_edges_to_one_target():
    body = """
  %in = icmp ult i32 %x, %n
  br i1 %in, label %turn, label %end
turn:
  %at = phi i32 [ %x, %entry ], [ %next, %after ], [ %next, %after ]
  %four = add i32 %at, 4
  %over = icmp ugt i32 %four, %n
  br i1 %over, label %rest, label %after
rest:
  call void @use()
  br label %after
after:
  %next = add i32 %at, 32
  switch i32 %m, label %end [
    i32 1, label %turn
    i32 2, label %turn
  ]
end:
  ret void"""
    assert find_never_unanimous(body, "turn") == set()  # a switch says nothing of the next turn


@pytest.mark.parametrize(
    ("condition", "tells"),
    [
        ("%c = icmp ult i32 %any, %n", True),
        ("%c = icmp ult i32 %any, 7", False),
        ("%c = icmp ult i32 %any, %x", False),
        ("%a = icmp ult i32 %any, %n\n%b = icmp eq i32 %m, 3\n%c = and i1 %a, %b", True),
        ("%a = icmp ult i32 %any, %n\n%b = icmp eq i32 %any, 3\n%c = and i1 %a, %b", False),
        (
            "%a = icmp ult i32 %any, %n\n%p = select i1 %a, ptr @f, ptr null\n"
            "%c = icmp eq ptr %p, null",
            True,
        ),
    ],
)
def test_bounds_guards_compare_with_uniform_values(condition, tells):
    lines = [*condition.splitlines(), "br i1 %c, label %one, label %end"]
    text = "".join(f"  {line}\n" for line in lines)
    found, blocks = find_guards(
        f"{text}one:\n  call void @use()\n  br label %end\nend:\n  ret void"
    )
    assert found.is_bounds_guard(blocks["entry"]) is tells
