"""Test the splitting of a module of LLVM IR."""

import re

from metalbench.msl.ir.cut import PartitionedModule
from metalbench.msl.ir.module import Module

MODULE = """
@llvm.compiler.used = appending global [3 x ptr] [ptr @always, ptr @lane_0, ptr @lane_1], section ""
@table = internal constant [2 x i32] [i32 1, i32 2]
@"odd name" = internal global [4 x i8] undef
@outside = external constant i8
$shared = comdat any

; Function Attrs: nounwind
define weak hidden float @always(float %0) #0 !dbg !1 {
  ret float %0
}

define linkonce_odr hidden i32 @shared(i32 %0) comdat {
  ret i32 %0
}

define internal i32 @of_first(ptr %0) {
  %2 = load i32, ptr @table
  %3 = call i32 @shared(i32 %2)
  ret i32 %3
}

define internal i32 @of_nobody() {
  ret i32 0
}

define void @lane_0(ptr %0) #0 !dbg !2 {
  %2 = call i32 @of_first(ptr %0)
  ret void
}

define void @lane_1(ptr %0) #0 {
  store i8 1, ptr @"odd name"
  %2 = call i32 @shared(i32 7)
  ret void
}

declare i32 @elsewhere(i32)

attributes #0 = { nounwind }
!llvm.ident = !{!0}
"""
ENTRIES = ["lane_0", "lane_1"]


def definitions(part):
    return re.findall(r"^define [^@]*@(\w+)", part, re.M)


def test_a_part_has_all_that_its_entries_reach():
    first, second = (
        str(PartitionedModule(Module(MODULE), ENTRIES).part([each])) for each in ENTRIES
    )
    assert definitions(first) == ["always", "shared", "of_first", "lane_0"]
    assert definitions(second) == ["always", "shared", "lane_1"]
    assert ("@table =" in first, '@"odd name" =' in first) == (True, False)
    assert ("@table =" in second, '@"odd name" =' in second) == (False, True)
    for part in (first, second):
        assert "@outside = external" in part
        assert "declare i32 @elsewhere" in part
        assert part.endswith("!llvm.ident = !{!0}\n")


def test_used_lists_name_symbols_of_the_part():
    part = str(PartitionedModule(Module(MODULE), ENTRIES).part(["lane_1"]))
    assert "global [2 x ptr] [ptr @always, ptr @lane_1], section" in part


def test_all_entries_together_are_the_module_without_unreachable_code():
    whole = str(PartitionedModule(Module(MODULE), ENTRIES).part(ENTRIES))
    start = MODULE.index("define internal i32 @of_nobody")
    assert whole == MODULE[:start] + MODULE[MODULE.index("\n\ndefine void @lane_0") :]


def test_the_weight_of_an_entry_is_its_own_code():
    module = PartitionedModule(Module(MODULE), ENTRIES)
    assert module.weight("lane_0") > module.weight("lane_1") > 100
