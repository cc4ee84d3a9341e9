"""Calls at which lanes may meet take the iteration counters of their loops."""

from __future__ import annotations

import re

import pytest

from metalbench.msl.engine import find_toolchain
from metalbench.msl.ir.module import Module
from metalbench.msl.toolchain.compile import MessageTranslator, optimise
from metalbench.msl.transforms.block_layout import lay_out_blocks

MEET = "_ZN2mbL4meetEPvPFvPKS0_jE"
TELL = "_ZN2mbL8in_turnsEPKj"
FUNCTIONS = f"""
define internal void @{MEET}(ptr %0, ptr %1) noinline {{
  ret void
}}

define internal void @{TELL}(ptr %0) noinline {{
  ret void
}}
"""
# A loop within a loop: in the inner one a call that is passed by, in the outer one one that is not.
WITHIN = f"""
define void @kernel(i32 %0, ptr %1) {{
  br label %outer

outer:                                            ; preds = %2, %end
  %3 = phi i32 [ 0, %2 ], [ %8, %end ]
  call void @{MEET}(ptr %1, ptr null)
  br label %inner

inner:                                            ; preds = %outer, %inner, %inner, %call
  %4 = phi i32 [ 0, %outer ], [ %5, %inner ], [ %5, %inner ], [ %5, %call ]
  %5 = add i32 %4, 1
  switch i32 %5, label %call [
    i32 1, label %inner
    i32 2, label %inner
    i32 9, label %end
  ]

call:                                             ; preds = %inner
  call void @{MEET}(ptr %1, ptr null)
  %6 = icmp eq i32 %5, %0
  br i1 %6, label %end, label %inner

end:                                              ; preds = %call, %inner
  %7 = phi i32 [ 1, %call ], [ 2, %inner ]
  %8 = add i32 %3, %7
  %9 = icmp ult i32 %8, %0
  br i1 %9, label %outer, label %out

out:                                              ; preds = %end
  call void @{MEET}(ptr %1, ptr null)
  ret void
}}
"""
ALWAYS = f"""
define void @kernel(i32 %0, ptr %1) {{
  br label %3

3:                                                ; preds = %2, %3
  %4 = phi i32 [ 0, %2 ], [ %5, %3 ]
  call void @{MEET}(ptr %1, ptr null)
  %5 = add i32 %4, 1
  %6 = icmp eq i32 %5, %0
  br i1 %6, label %7, label %3

7:                                                ; preds = %3
  ret void
}}
"""
PASSED_BY = ALWAYS.replace(
    f"  call void @{MEET}(ptr %1, ptr null)\n",
    f"""  %c = icmp eq i32 %4, 3
  br i1 %c, label %some, label %all

some:                                             ; preds = %3
  call void @{MEET}(ptr %1, ptr null)
  br label %all

all:                                              ; preds = %3, %some
""",
).replace("%5, %3 ]", "%5, %all ]")


def in_order(ir):
    module = Module(ir)
    lay_out_blocks(module)
    return str(module)


def blocks(ir):
    body = ir.partition("@kernel(")[2].partition("\n}")[0].partition("\n")[2]
    parts = re.split(r"^([\w.]+):.*\n", f"first:\n{body}", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def told(block):
    """The words that stand in front of a block's call."""
    return re.findall(r"store i32 (\S+), ptr %mb.turns.at", block)


def test_each_call_takes_the_counters_of_its_loops():
    ir = in_order(FUNCTIONS + WITHIN)
    optimise(ir, find_toolchain(), MessageTranslator(), ["-O0"])  # LLVM accepts it
    found = blocks(ir)
    outer, inner = told(found["outer"])[:2], told(found["call"])[2:4]
    assert told(found["outer"]) == [*outer, "-1"]
    assert told(found["call"]) == [*outer, *inner, "-1"]
    assert told(found["out"]) == ["-1"]
    assert outer[0] != inner[0]
    assert "alloca [5 x i32]" in ir


def test_an_iteration_starts_at_the_loop_header():
    found = blocks(in_order(FUNCTIONS + WITHIN))
    (turn,) = re.findall(r"%mb.turns.\d+ = phi i32 (.*)", found["inner"])
    next_ = re.search(r"(%mb.turns.\d+.next) = add", found["inner"])[1]
    assert sorted(turn.split("], [")) == sorted(
        f"[ 0, %outer ], [ {next_}, %inner ], [ {next_}, %inner ], [ {next_}, %call ]".split("], [")
    )


@pytest.mark.parametrize("body", [ALWAYS, WITHIN.replace(f"call void @{MEET}", "call void @other")])
def test_a_call_without_divergence_needs_no_counters(body):
    ir = FUNCTIONS + body
    assert in_order(ir) == ir


def test_a_conditional_call_needs_counters():
    ir = in_order(FUNCTIONS + PASSED_BY)
    optimise(ir, find_toolchain(), MessageTranslator(), ["-O0"])
    assert len(told(blocks(ir)["some"])) == 3


def test_functions_without_convergent_calls_have_no_counters():
    assert "mb.turns" not in in_order(WITHIN + FUNCTIONS.replace(TELL, "other"))
