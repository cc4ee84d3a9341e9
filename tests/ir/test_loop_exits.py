"""Blocks behind a loop that belong to one of its iterations."""

from __future__ import annotations

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError

# `b` leaves the loop of `head`; the mark is in `left`.
TEXT = """define void @f(i1 %a, i1 %b) {
  br label %head

head:
  %t = call i32 @mb_vector_turn_begins()
  br i1 %a, label %left, label %next

next:
  br i1 %b, label %head, label %end

left:
  call void @g()
  br label %mark

mark:
  %m = call i1 @mb_vector_turn_ends(i32 %t)
  br i1 %m, label %trap, label %end

trap:
  unreachable

end:
  ret void
}
"""


def test_blocks_before_an_exit_mark_belong_to_the_loop_that_it_leaves():
    function = read_function(Module(TEXT).function("f"))
    flow = flow_of(function)
    (loop,) = flow.loops
    assert {each.name for each in loop.blocks} == {"%head", "%next", "%left", "%mark"}
    assert {each.name for each in loop.behind} == {"%left", "%mark"}
    assert flow.order[-1].name == "%end"


def test_an_exit_mark_is_removed_with_its_branch():
    function = read_function(Module(TEXT).function("f"))
    flow_of(function)
    assert "%trap" not in function.blocks
    assert [each.opcode for each in function.blocks["%head"].instructions] == ["br"]
    mark = function.blocks["%mark"]
    assert [each.opcode for each in mark.instructions] == ["br"]
    assert [each.name for each in mark.successors] == ["%end"]


def test_a_second_edge_to_an_exit_mark_keeps_the_loop():
    function = read_function(
        Module(
            TEXT.replace("br label %head\n\nhead", "br i1 %b, label %left, label %head\n\nhead", 1)
        ).function("f")
    )
    (loop,) = flow_of(function).loops
    assert {each.name for each in loop.blocks} == {"%head", "%next"}


# `inner` may be left for what ends the turn of `head` that it is in; that loop goes on.
NESTED = """define void @f(i1 %a, i1 %b) {
  br label %head

head:
  %t = call i32 @mb_vector_turn_begins()
  br label %inner

inner:
  br i1 %a, label %more, label %next

more:
  br i1 %b, label %inner, label %ask

ask:
  call void @g()
  %m = call i1 @mb_vector_turn_ends(i32 %t)
  br i1 %m, label %trap, label %next

trap:
  unreachable

next:
  br i1 %b, label %head, label %end

end:
  ret void
}
"""


def test_behind_a_loop_within_a_turn_a_mark_is_of_the_loop_around():
    inner, around = flow_of(read_function(Module(NESTED).function("f"))).loops
    assert {each.name for each in inner.blocks} == {"%inner", "%more"}
    assert {each.name for each in around.blocks} == {"%head", "%inner", "%more", "%ask", "%next"}
    assert not inner.behind
    assert not around.behind


def test_an_exit_mark_takes_the_iteration_from_phis_of_unrolled_loops():
    function = read_function(
        Module(
            TEXT.replace("mark:\n", "mark:\n  %p = phi i32 [ %t, %left ]\n").replace(
                "(i32 %t)", "(i32 %p)"
            )
        ).function("f")
    )
    (loop,) = flow_of(function).loops
    assert {each.name for each in loop.behind} == {"%left", "%mark"}
    assert [each.opcode for each in function.blocks["%mark"].instructions] == ["br"]


def test_an_exit_mark_without_an_iteration_is_an_error():
    text = TEXT.replace("(i32 %t)", "(i32 7)")
    with pytest.raises(IrError, match="7 does not come from the begin of an iteration"):
        flow_of(read_function(Module(text).function("f")))


def test_an_exit_mark_with_another_condition():
    with pytest.raises(IrError, match="not the end of the block"):
        flow_of(read_function(Module(TEXT.replace("br i1 %m", "br i1 %a")).function("f")))
