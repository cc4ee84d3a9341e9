"""What is left for good in a turn of a loop."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError

# `b` leaves the loop of `head`; the mark is in `left`.
TEXT = """define void @f(i1 %a, i1 %b) {
  br label %head

head:
  br i1 %a, label %left, label %next

next:
  br i1 %b, label %head, label %end

left:
  call void @g()
  br label %mark

mark:
  %m = call i1 @mb_vector_turn_ends()
  br i1 %m, label %trap, label %end

trap:
  unreachable

end:
  ret void
}
"""


def test_what_leads_to_a_mark_is_of_the_loop_that_it_leaves():
    function = read_function(TEXT, "f")
    flow = flow_of(function)
    (loop,) = flow.loops
    assert {each.name for each in loop.blocks} == {"%head", "%next", "%left", "%mark"}
    assert {each.name for each in loop.behind} == {"%left", "%mark"}
    assert flow.order[-1].name == "%end"


def test_a_mark_goes_with_its_branch():
    function = read_function(TEXT, "f")
    flow_of(function)
    assert "%trap" not in function.blocks
    mark = function.blocks["%mark"]
    assert [each.opcode for each in mark.instructions] == ["br"]
    assert [each.name for each in mark.successors] == ["%end"]


def test_another_way_to_a_mark_leaves_the_loop_as_it_is():
    function = read_function(
        TEXT.replace("br label %head\n\nhead", "br i1 %b, label %left, label %head\n\nhead", 1), "f"
    )
    (loop,) = flow_of(function).loops
    assert {each.name for each in loop.blocks} == {"%head", "%next"}


def test_a_mark_that_decides_something_else():
    with pytest.raises(IrError, match="not the end of the block"):
        flow_of(read_function(TEXT.replace("br i1 %m", "br i1 %a"), "f"))
