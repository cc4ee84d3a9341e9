"""Changes of a kernel's LLVM IR before it is optimised."""

from __future__ import annotations

import re

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.metal_semantics import give_metal_semantics

FUNCTION = """\
define void @f(ptr align 16 dereferenceable(16) %r, ptr sret(%S) align 16 %s) !dbg !5 {
entry:
  %v = alloca %"struct.metal::vec", align 16
  %p.addr = alloca ptr, align 8
  store ptr %r, ptr %p.addr, align 8, !tbaa !1
  %0 = load ptr, ptr %p.addr, align 8, !tbaa !1, !nonnull !9, !align !10
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %v, ptr align 16 %0, i64 16, i1 false), !dbg !7
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %0, ptr align 4 %v, i64 16, i1 false), !dbg !8
  %1 = load float, ptr %0, align 4, !dbg !7
  %2 = load atomic i32, ptr %0 monotonic, align 4, !dbg !7
  store atomic i32 %2, ptr %0 monotonic, align 4, !dbg !7
  %3 = atomicrmw add ptr %0, i32 1 monotonic, align 4, !dbg !7
  %div = sdiv i32 %2, %3, !dbg !7
  %rem = srem i64 -5, %q
  %by4 = sdiv exact i64 %q, 4, !dbg !7
  %half = udiv i32 %2, %3, !dbg !7
  ret void
}

declare i32 @mb_divisor_i32(i32, i32)
declare i64 @mb_divisor_i64(i64, i64)
declare void @mb_check_alignment(ptr, i64, i32)
"""
DEBUG = """\
!3 = !DIFile(filename: "FILE", directory: "/")
!5 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 1)
"""


def rewrite(text: str, *, checked: bool) -> str:
    module = Module(text)
    give_metal_semantics(module, checked=checked)
    return str(module)


def lines(text: str, part: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if part in line]


def test_plain_builds_count_on_no_alignment_but_of_atomics_and_of_the_stack():
    text = rewrite(FUNCTION, checked=False)
    assert "ptr dereferenceable(16) %r, ptr sret(%S) align 16 %s" in text
    assert lines(text, "= load ptr") == [
        "%0 = load ptr, ptr %p.addr, align 1, !tbaa !1, !nonnull !9"
    ]
    assert [re.findall(r"align (\d+)", line) for line in lines(text, "memcpy")] == [["1", "1"]] * 2
    assert lines(text, "= load float") == ["%1 = load float, ptr %0, align 1, !dbg !7"]
    assert lines(text, "alloca") == lines(FUNCTION, "alloca")
    assert lines(text, "atomic") == lines(FUNCTION, "atomic")


def test_checked_builds_ask_before_the_users_copies():
    text = rewrite(FUNCTION + DEBUG.replace("FILE", "user.metal"), checked=True)
    assert lines(text, "call void @mb_check_alignment") == [
        "call void @mb_check_alignment(ptr %0, i64 16, i32 0), !dbg !7",
        "call void @mb_check_alignment(ptr %0, i64 8, i32 1), !dbg !8",
    ]
    assert lines(text, "memcpy") == lines(FUNCTION, "memcpy")
    own = rewrite(FUNCTION + DEBUG.replace("FILE", "<metalbench>/mb/vec.h"), checked=True)
    assert not lines(own, "call void @mb_check_alignment")


def test_signed_divisions_get_a_divisor_that_does_not_overflow():
    for checked in (False, True):
        text = rewrite(FUNCTION, checked=checked)
        assert lines(text.partition("declare")[0], "div") == [
            "%mb.divisor.div = call i32 @mb_divisor_i32(i32 %2, i32 %3), !dbg !7",
            "%div = sdiv i32 %2, %mb.divisor.div, !dbg !7",
            "%mb.divisor.rem = call i64 @mb_divisor_i64(i64 -5, i64 %q)",
            "%rem = srem i64 -5, %mb.divisor.rem",
            "%by4 = sdiv exact i64 %q, 4, !dbg !7",
            "%half = udiv i32 %2, %3, !dbg !7",
        ]


def test_a_division_without_its_helper_is_an_error():
    without = FUNCTION.replace("declare i32 @mb_divisor_i32", "declare i32 @mb_other")
    with pytest.raises(IrError, match="the module has no mb_divisor_i32 for '%div = sdiv"):
        rewrite(without, checked=False)


def test_amounts_of_shifts_are_less_than_the_width():
    shifts = """\
define void @f() {
entry:
  %shl = shl nuw i32 %0, %1, !dbg !7
  %shr = ashr i64 -8, %a.2
  %far = lshr exact i32 %0, 35, !dbg !7
  %near = lshr i32 %0, 3
  %all = shl <4 x i16> <i16 1, i16 2, i16 3, i16 4>, %v
  ret void
}
"""
    assert (
        rewrite(shifts, checked=False)
        == rewrite(shifts, checked=True)
        == """\
define void @f() {
entry:
  %mb.amount.shl = and i32 %1, 31, !dbg !7
  %shl = shl nuw i32 %0, %mb.amount.shl, !dbg !7
  %mb.amount.shr = and i64 %a.2, 63
  %shr = ashr i64 -8, %mb.amount.shr
  %far = lshr exact i32 %0, 3, !dbg !7
  %near = lshr i32 %0, 3
  %mb.amount.all = and <4 x i16> %v, splat (i16 15)
  %all = shl <4 x i16> <i16 1, i16 2, i16 3, i16 4>, %mb.amount.all
  ret void
}
"""
    )


def test_a_shift_of_another_width_is_an_error():
    with pytest.raises(IrError, match="no width of a power of two"):
        rewrite("define void @f() {\n  %a = shl i24 %0, %1\n  ret void\n}\n", checked=False)


PLAIN_LINES = (
    "store volatile <4 x float> %v, ptr %p, align 16, !dbg !7",
    'store float %v, ptr %"a, align 8", align 4',
    '%"a b" = load ptr, ptr %p, align 8, !dbg !7, !align !10',
    "%1 = load atomic volatile i32, ptr %p monotonic, align 4, !dbg !7",
    "%v = alloca [4 x float], align 16",
    "call void @f(ptr align 8 dereferenceable(16) %p, ptr sret(%S) align 16 %s), !dbg !7",
    "%r = tail call ptr @g(ptr align 4 dereferenceable(4) %p)",
    "call void @llvm.memset.p0.i64(ptr align 8 %p, i8 0, i64 16, i1 false), !dbg !7",
    "tail call void @llvm.memmove.p0.p0.i64(ptr align 2 %p, ptr align 4 %q, i64 16, i1 false)",
    'call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ]',
)
SHIFTS = (
    *("shl i8 %a, 7", "shl i8 %a, 8", "shl nuw nsw i16 %a, 15", "lshr exact i16 %a, 16"),
    *("ashr i32 %a, 31", "ashr i32 %a, 32", "shl i32 %a, 319", "shl i64 %a, 31"),
    *("shl i64 %a, 64", "lshr <4 x i32> %a, %b", "lshr i32 1, %b", "sdiv i32 %a, 8"),
    *("sdiv i32 8, %b", "srem i64 %a, %b", "udiv i32 %a, %b", "mul i32 %a, %b"),
)


@pytest.mark.parametrize("line", [*PLAIN_LINES, *(f"%r = {each}, !dbg !7" for each in SHIFTS)])
def test_lines_change_as_instructions_that_were_read(line):
    text = f"define void @h(ptr %p) {{\n  {line}\n  ret void\n}}\n"
    text += FUNCTION.partition("}\n")[2]
    module = Module(text)
    for each in module.functions.values():
        assert each.blocks
    give_metal_semantics(module, checked=False)
    assert rewrite(text, checked=False) == str(module)
