"""Conditions that the performance lints know to be uniform."""

from __future__ import annotations

import pytest

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.analysed_code import AnalysedCode
from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.uniformity import VARYING, analyse_uniformity
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function

# A uniform condition and a varying one; the branch in `join` is on PHI.
SIDES = """
declare i32 @any()
define void @f(i32 %n) {
entry:
  %any = call i32 @any()
  %u = icmp eq i32 %n, 3
  %v = icmp eq i32 %any, 1
  br i1 %FIRST, label %left, label %right
left:
  br i1 %v, label %left_too, label %join
left_too:
  br label %join
right:
  br i1 %v, label %right_too, label %join
right_too:
  br label %join
join:
  %c = phi i1 PHI
  br i1 %c, label %yes, label %no
yes:
  br label %no
no:
  ret void
}
"""
TESTED = """
declare i32 @any()
define void @f(i32 %n) {
entry:
  %any = call i32 @any()
  %u = icmp eq i32 %n, 3
  %v = icmp eq i32 %any, 1
  br i1 %v, label %join, label %test
test:
  br i1 %u, label %one, label %other
one:
  br label %join
other:
  br label %join
join:
  %c = phi i1 PHI
  br i1 %c, label %yes, label %no
yes:
  br label %no
no:
  ret void
}
"""
BY_SIDE = "[ true, %left ], [ true, %left_too ], [ false, %right ], [ false, %right_too ]"
WITHIN = "[ true, %left ], [ false, %left_too ], [ false, %right ], [ false, %right_too ]"
KNOWN = "[ %u, %entry ], [ true, %one ], [ false, %other ]"
NEGATED = "[ %u, %entry ], [ false, %one ], [ true, %other ]"
VARIED = "[ %v, %entry ], [ true, %one ], [ false, %other ]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SIDES.replace("FIRST", "u").replace("PHI", BY_SIDE), True),
        (SIDES.replace("FIRST", "v").replace("PHI", BY_SIDE), False),
        (SIDES.replace("FIRST", "u").replace("PHI", WITHIN), False),
        (TESTED.replace("PHI", KNOWN), True),
        (TESTED.replace("PHI", NEGATED), False),
        (TESTED.replace("PHI", VARIED), False),
    ],
    ids=["by side", "divergent sides", "within a side", "known", "negated", "varied"],
)
def test_is_choice_of_uniform_branches(body, expected):
    module = Module(body)
    function = read_function(module.function("f"))
    flow = flow_of(function)
    info = analyse_uniformity(function, flow, SIMD_WIDTH, {"any": lambda call, given: VARYING})
    code = AnalysedCode(function, module.metadata, flow, info)
    assert code.is_choice_of_uniform_branches(function.blocks["%join"]) is expected
