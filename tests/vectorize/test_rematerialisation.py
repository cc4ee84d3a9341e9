"""Rematerialisation: its candidates and the uses of their operands."""

from __future__ import annotations

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.liveness import (
    find_cross_block_uses,
    find_dead_values,
    select_rematerialised,
)
from metalbench.msl.analysis.uniformity import Affine, analyse_uniformity
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function

HEAD = """
declare i32 @x()
declare void @use(ptr, i1)
declare void @llvm.assume(i1)
define void @f(ptr %p, i32 %n) {
entry:
  %x = call i32 @x()
"""


def find_rematerialised(body: str) -> tuple[set[str], dict[str, set[str]]]:
    function = read_function(Module(f"{HEAD}{body}\n}}\n").function("f"))
    flow = flow_of(function)
    info = analyse_uniformity(function, flow, 8, {"x": lambda call, given: Affine(1)})
    uses = find_cross_block_uses(function, flow)
    names = set(select_rematerialised(function, info, uses))
    return names, {name: {block.name for block in blocks} for name, blocks in uses.items()}


def test_checked_addresses_and_affine_comparisons_are_rematerialised():
    names, uses = find_rematerialised("""
  %k = add i32 %x, %n
  %w = zext i32 %k to i64
  %q = getelementptr float, ptr %p, i64 %w
  %c = icmp ult i32 %x, %n
  %e = icmp eq i32 %x, %n
  br label %next
next:
  call void @use(ptr %q, i1 %c)
  call void @use(ptr %q, i1 %e)
  ret void""")
    assert names == {"%w", "%q", "%c"}
    # Their operands %k and %x are used there. %k is affine without a check.
    assert uses["%k"] == {"%next"}
    assert uses["%x"] == {"%next"}


def test_varying_operands_are_not_rematerialised():
    names, _ = find_rematerialised("""
  %s = mul i32 %x, %x
  %w = zext i32 %s to i64
  %q = getelementptr float, ptr %p, i64 %w
  %c = icmp ult i32 %s, %n
  call void @use(ptr %q, i1 %c)
  ret void""")
    assert names == set()


def test_temporally_divergent_values_are_not_rematerialised():
    names, _ = find_rematerialised("""
  br label %loop
loop:
  %t = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = add i32 %t, %x
  %w = zext i32 %at to i64
  %q = getelementptr float, ptr %p, i64 %w
  %more = add i32 %t, 1
  %d = icmp ult i32 %at, %n
  br i1 %d, label %loop, label %end
end:
  call void @use(ptr %q, i1 true)
  ret void""")
    assert "%q" not in names


def test_values_used_by_annotations_only_are_dead():
    function = read_function(
        Module(f"""{HEAD}
  %c = icmp ult i32 %x, 1024
  call void @llvm.assume(i1 %c)
  %k = add i32 %x, 1
  %l = mul i32 %k, 2
  %u = add i32 %x, 3
  store i32 %u, ptr %p, align 4
  ret void
}}
""").function("f")
    )
    assert find_dead_values(function) == {"%c", "%k", "%l"}
