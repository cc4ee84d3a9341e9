"""Counted builds: private pointers, and calls that count."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.counting import PrivatePointers, count

BODY = """define void @f(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca [4 x float], align 16
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  store ptr %3, ptr %4, align 8
  store ptr %3, ptr %5, align 8
  store ptr %0, ptr %5, align 8
  %6 = load ptr, ptr %2, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds float, ptr %7, i64 2
  %9 = load ptr, ptr %5, align 8
"""


def pointers(body):
    (function,) = Module(f"{body}  ret void\n}}\n").functions.values()
    return PrivatePointers(function)


def test_members_and_variables_set_once_are_tracked():
    private = pointers(BODY)
    assert [private.has(name) for name in ("%3", "%7", "%8")] == [True] * 3


def test_changing_arguments_and_variables_are_not_tracked():
    private = pointers(BODY)
    assert [private.has(name) for name in ("%0", "%6", "%9")] == [False] * 3


def test_a_variable_with_an_escaped_address_is_not_private():
    private = pointers(f"{BODY}  call void @g(ptr %4)\n")
    assert not private.has("%8")


COUNTED = """\
define void @f(ptr %p, <4 x float> %v) !dbg !5 {
  %own = alloca float, align 4
  %a = load <4 x float>, ptr %p, align 16, !dbg !7
  %b = fmul <4 x float> %a, %v, !dbg !7
  store float 1.0, ptr %own, align 4, !dbg !7
  %c = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %v), !dbg !7
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr align 4 %own, i64 4, i1 false), !dbg !8
  call void @g(), !dbg !8
  ret void, !dbg !8
}

declare void @g()
declare void @mb_count_segment(i32)
declare void @mb_count_access(ptr, i32, i32, i32, i32)

!3 = !DIFile(filename: "user.metal", directory: "/")
!5 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 1)
!7 = !DILocation(line: 2, scope: !5)
!8 = !DILocation(line: 3, scope: !5)
"""


def test_count_inserts_calls_and_returns_their_sites():
    module = Module(COUNTED)
    counted = count(module)
    assert [(each.line, each.kind, each.bytes) for each in counted.sites] == [(2, 0, 16), (3, 1, 4)]
    assert counted.segments[0].work == {"user.metal:2": {"multiply": 4, "fma": 4}}
    lines = [line.strip() for line in str(module).splitlines()]
    nowhere = "!dbg !DILocation(line: 0, scope: !5)"
    assert lines[2:5] == [
        f"call void @mb_count_segment(i32 0), {nowhere}",
        f"call void @mb_count_access(ptr %p, i32 16, i32 0, i32 0, i32 0), {nowhere}",
        "%a = load <4 x float>, ptr %p, align 16, !dbg !7",
    ]
    # A call of a function ends a segment.
    assert lines[lines.index("call void @g(), !dbg !8") + 1].startswith("call void @mb_count_seg")


def test_a_module_without_counting_functions_is_an_error():
    with pytest.raises(IrError, match="the module has no mb_count_segment"):
        count(Module(COUNTED.replace("declare void @mb_count_segment(i32)\n", "")))
