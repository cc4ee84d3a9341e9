"""Blocks in an order in which whatever leads to a call stands in front of it."""

from __future__ import annotations

import re

from metalbench.msl.engine import find_toolchain
from metalbench.msl.ir.module import Module
from metalbench.msl.toolchain.compile import MessageTranslator, optimise
from metalbench.msl.transforms.block_layout import (
    inline_meeting_functions,
    lay_out_blocks,
    may_diverge,
)

MEET = "_ZN2mbL4meetEPvPFvPKS0_jE"
# LLVM may leave the block behind a loop in front of the loop's own.
BEHIND_FIRST = f"""
define internal void @{MEET}(ptr %0, ptr %1) noinline {{
  ret void
}}

define void @kernel(i32 %0, ptr %1) {{
  %3 = icmp eq i32 %0, 0
  br i1 %3, label %4, label %.preheader

4:                                                ; preds = %2, %6
  %5 = phi i32 [ 0, %2 ], [ %9, %6 ]
  call void @{MEET}(ptr %1, ptr null)
  store i32 %5, ptr %1
  ret void

.preheader:                                       ; preds = %2
  br label %6

6:                                                ; preds = %6, %.preheader
  %7 = phi i32 [ 0, %.preheader ], [ %9, %6 ]
  %8 = call i32 @next(i32 %7)
  call void @{MEET}(ptr %1, ptr null)
  %9 = add i32 %8, %0
  %10 = icmp eq i32 %9, 8
  br i1 %10, label %4, label %6
}}

declare i32 @next(i32)
"""


def in_order(ir):
    module = Module(ir)
    lay_out_blocks(module)
    return str(module)


def inlined(ir):
    module = Module(ir)
    inline_meeting_functions(module)
    return str(module)


def labels(ir):
    body = ir.partition("@kernel(")[2].partition("\n}")[0]
    return re.findall(r"^([\w.]+):", body, re.MULTILINE)


def accepted(ir):
    return optimise(ir, find_toolchain(), MessageTranslator(), ["-O0"])


def test_blocks_after_a_loop_are_placed_after_it():
    ordered = in_order(BEHIND_FIRST)
    assert labels(BEHIND_FIRST) == ["4", ".preheader", "6"]
    assert labels(ordered) == [
        *("mb.unnamed.2", ".preheader", "mb.unnamed.6", "mb.unnamed.4"),
    ]
    assert labels(accepted(ordered)) == labels(ordered)


def test_an_ordered_function_is_not_changed():
    ordered = in_order(BEHIND_FIRST)
    assert in_order(ordered) == ordered


def test_functions_without_divergent_calls_are_unchanged():
    alone = BEHIND_FIRST.replace(f"call void @{MEET}(ptr %1, ptr null)\n  store", "store")
    assert may_diverge(Module(alone))
    assert in_order(alone) == alone
    assert not may_diverge(Module(BEHIND_FIRST.replace(f"call void @{MEET}", "call void @other")))


def test_loops_with_several_entries_are_unchanged():
    entered = BEHIND_FIRST.replace("label %4, label %.preheader", "label %6, label %.preheader", 1)
    several = entered.replace(
        "br label %6\n\n6:", "br label %11\n\n11:\n  br label %6\n\n6:"
    ).replace("label %4, label %6\n", "label %4, label %11\n")
    assert in_order(several) == several


CALLS = f"""
define internal void @{MEET}(ptr %0, ptr %1) #0 {{
  store volatile i32 0, ptr %0
  ret void
}}

define linkonce_odr void @"a b"(ptr %0) #1 {{
  call void @{MEET}(ptr %0, ptr null)
  ret void
}}

define internal void @around(ptr %0) #0 {{
  call void @"a b"(ptr %0) #2
  ret void
}}

define internal void @apart(ptr %0) #0 {{
  store volatile i32 0, ptr %0
  ret void
}}

define void @kernel(ptr %0) #1 {{
  call void @around(ptr %0)
  call void @around(ptr %0)
  call void @apart(ptr %0)
  ret void
}}

attributes #0 = {{ noinline nounwind }}
attributes #1 = {{ nounwind }}
attributes #2 = {{ nounwind }}
"""


def test_convergent_functions_are_inlined():
    text = optimise(inlined(CALLS), find_toolchain(), MessageTranslator(), ["-O1"])
    kernel = text.partition("@kernel(")[2].partition("\n}")[0]
    assert re.findall(r"@([\w]+)", kernel) == [MEET, MEET, "apart"]
    before = optimise(CALLS, find_toolchain(), MessageTranslator(), ["-O1"])
    kernel = before.partition("@kernel(")[2].partition("\n}")[0]
    assert re.findall(r"@([\w]+)", kernel) == ["around", "around", "apart"]


def test_a_recursive_function_is_not_inlined():
    again = CALLS.replace(
        "store volatile i32 0, ptr %0",
        f"call void @apart(ptr %0)\n  call void @{MEET}(ptr %0, ptr null)",
    )
    assert "@apart" in optimise(inlined(again), find_toolchain(), MessageTranslator(), ["-O1"])


def test_checked_and_unchecked_functions_are_not_inlined_into_each_other():
    apart = CALLS.replace("@around", "@_ZN2mb3runEv")
    kernel = optimise(inlined(apart), find_toolchain(), MessageTranslator(), ["-O1"]).partition(
        "@kernel("
    )[2]
    assert kernel.partition("\n}")[0].count("@_ZN2mb3runEv") == 2
