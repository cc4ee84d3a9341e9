"""Ways that not all lanes take at once: near the ends of what there is."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.read import read_function
from metalbench.msl.vector.analysis import analyse
from metalbench.msl.vector.shapes import VARYING, Known, Linear
from metalbench.msl.vector.windows import Windows

WIDTH = 8
SHAPES = {
    "x": lambda call, given: Linear(4),
    "any": lambda call, given: VARYING,
    "lane": lambda call, given: Known(tuple(range(WIDTH))),
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


def windows(body: str) -> tuple[Windows, dict]:
    function = read_function(f"{HEAD}{body}\n}}\n", "f")
    flow = flow_of(function)
    shapes = analyse(function, flow, WIDTH, SHAPES)
    found = Windows(function, flow, shapes, WIDTH)
    return found, {name.removeprefix("%"): block for name, block in function.blocks.items()}


def narrow(body: str, block: str, *, sure: bool = False) -> set[str]:
    """The blocks, among those that the branch of this one leads to, that not all lanes go to."""
    found, blocks = windows(body)
    ways = blocks[block].successors
    return {
        each.name.removeprefix("%")
        for each in ways
        if found.is_narrow(blocks[block], each, sure=sure)
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
def test_an_element_of_a_group_that_is_not_whole(value, first, second):
    assert narrow(tail(value, first, second), "rest") == {"one"}


def test_it_is_sure_of_lanes_that_follow_each_other():
    assert narrow(tail("%x"), "rest", sure=True) == {"one"}
    assert narrow(tail("%any"), "rest", sure=True) == set()


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ("%x", "ult i32 %second, %m"),  # another end
        ("%x", "uge i32 %second, %n"),  # beyond the end all lanes may be
        ("%x", "ult i32 %any, %n"),  # another value
        ("%m", "ult i32 %second, %n"),  # which all have
    ],
)
def test_what_all_lanes_may_do(value, second):
    assert "one" not in narrow(tail(value, second=second), "rest")


@pytest.mark.parametrize(("room", "is_narrow"), [(1, True), (28, True), (29, False)])
def test_lanes_that_follow_each_other_have_as_much_room_as_they_take(room, is_narrow):
    """Eight lanes, four apart, all within so many elements before the end: they take 29."""
    found = narrow(
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


def test_within_a_loop_that_all_lanes_are_in_only_before_the_end():
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
    assert narrow(body, "turn") == {"rest"}
    # Not if lanes come to the loop wherever they are.
    assert (
        narrow(body.replace("br i1 %in, label %turn, label %end", "br label %turn"), "turn")
        == set()
    )


@pytest.mark.parametrize(("value", "ways"), [("%x", {"one"}), ("%any", set())])
def test_one_element_is_for_one_lane_where_they_follow_each_other(value, ways):
    body = f"""
  %is = icmp eq i32 {value}, %n
  br i1 %is, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert narrow(body, "entry") == ways


def test_conditions_of_several_parts():
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
    assert narrow(body, "in") == {"rest"}
    either = body.replace("select i1 %a, i1 %b, i1 false", "select i1 %a, i1 true, i1 %b")
    assert narrow(either, "in") == set()


def test_lanes_that_are_known_to_differ_take_no_way_together():
    body = """
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert narrow(body, "entry") == {"one", "end"}


def test_where_all_are_known_to_be_alike_they_go_together():
    body = """
  %in = icmp ult i32 %lane, 8
  br i1 %in, label %one, label %end
one:
  call void @use()
  br label %end
end:
  ret void"""
    assert narrow(body, "entry") == set()


def test_several_ways_of_a_switch_to_one_place():
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
    assert narrow(body, "turn") == set()  # a switch says nothing of the next turn


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
def test_what_only_tells_how_far_lanes_are_from_an_end(condition, tells):
    lines = [*condition.splitlines(), "br i1 %c, label %one, label %end"]
    text = "".join(f"  {line}\n" for line in lines)
    found, blocks = windows(f"{text}one:\n  call void @use()\n  br label %end\nend:\n  ret void")
    assert found.is_at_an_end(blocks["entry"]) is tells
