"""Instrumentation of pointers in checked builds: bounds, names of arrays, origins."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.member_bounds import check_member_bounds
from metalbench.msl.transforms.metal_semantics import check_copies
from metalbench.msl.transforms.provenance import pass_origins
from metalbench.msl.transforms.source_names import name_of_symbol, name_subscripts

DEBUG = """
!3 = !DIFile(filename: "user.metal", directory: "/")
!5 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 1)
!7 = !DILocation(line: 2, scope: !5)
"""
HELPERS = """
declare void @mb_within(ptr, ptr, i64, ptr)
declare void @mb_hand(i32, ptr, ptr, i64)
declare ptr @mb_handed_low(i32, ptr)
declare i64 @mb_handed_bytes(i32)
declare void @mb_moved(ptr, ptr)
declare void @mb_check_alignment(ptr, i64, i32)
declare void @mb_out_of_bounds(ptr, i64, ptr)
"""
# The type's name has a comma in it.
MEMBERS = """
%"struct.S<int, 4>" = type { i32, [8 x float] }

define void @f(ptr noundef %s) !dbg !5 {
entry:
  %p = alloca ptr, align 8
  %own.b = getelementptr inbounds nuw %"struct.S<int, 4>", ptr %s, i32 0, i32 1, !dbg !7
  %decay = getelementptr inbounds [8 x float], ptr %own.b, i64 0, i64 0, !dbg !7
  store ptr %decay, ptr %p, align 8, !dbg !7
  %0 = load ptr, ptr %p, align 8, !dbg !7
  %next = getelementptr inbounds float, ptr %0, i64 1, !dbg !7
  %1 = load float, ptr %next, align 4, !dbg !7
  call void @g(ptr noundef %next), !dbg !7
  ret void, !dbg !7
}

define void @g(ptr noundef %q) !dbg !5 {
entry:
  store float 1.0, ptr %q, align 4, !dbg !7
  ret void, !dbg !7
}
"""


def lines(module: Module, part: str) -> list[str]:
    return [line.strip() for line in str(module).splitlines() if part in line]


def test_bounds_of_a_member_go_through_variables_and_parameters():
    module = Module(MEMBERS + HELPERS + DEBUG)
    check_member_bounds(module)
    size = "i64 ptrtoint (ptr getelementptr ([8 x float], ptr null, i32 1) to i64)"
    assert f"store {size}, ptr %mb.bytes.p, align 8" in lines(module, "%mb.bytes.p")
    assert lines(module, "call void @mb_within") == [
        "call void @mb_within(ptr %next, ptr %mb.low.0, i64 %mb.bytes.0, ptr @mb.member.0), "
        "!dbg !7",
        "call void @mb_within(ptr %q, ptr %mb.low.q, i64 %mb.bytes.q, ptr @mb.member.1), !dbg !7",
    ]
    assert lines(module, "call void @mb_hand(") == [
        "call void @mb_hand(i32 0, ptr %next, ptr %mb.low.0, i64 %mb.bytes.0), !dbg !7"
    ]
    assert "%mb.low.q = call ptr @mb_handed_low(i32 0, ptr %q), !dbg !7" in lines(
        module, "%mb.low.q"
    )
    assert 'c"the array that `p` points into\\00"' in lines(module, "@mb.member.0 =")[0]


def test_origins_of_addresses_of_copies():
    module = Module(
        """
define void @f(ptr %p, i64 %i) !dbg !5 {
  %at = getelementptr inbounds nuw float, ptr %p, i64 %i, !dbg !7
  %kept = getelementptr inbounds nuw float, ptr %p, i64 %i, !dbg !7
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %at, ptr align 8 %p, i64 4, i1 false), !dbg !7
  ret void, !dbg !7
}
"""
        + HELPERS
        + DEBUG
    )
    check_copies(module)
    pass_origins(module)
    calls = ["call void @mb_moved(ptr %p, ptr %at), !dbg !7"]
    assert lines(module, "call void @mb_moved") == calls
    assert len(lines(module, "call void @mb_check_alignment")) == 2


SUBSCRIPT = """
define void @f(ptr %s) !dbg !5 {
entry:
  %tile = alloca [4 x float], align 4
  br i1 true, label %handler, label %cont

handler:
  call void @__ubsan_handle_out_of_bounds(ptr @1, i64 5) #2, !dbg !7, !nosanitize !7
  br label %cont

cont:
  %arrayidx = getelementptr inbounds [4 x float], ptr %tile, i64 0, i64 5, !dbg !7
  ret void, !dbg !7
}
"""


def test_checks_of_subscripts_know_the_array():
    module = Module(SUBSCRIPT + HELPERS + DEBUG)
    name_subscripts(module)
    call = "call void @mb_out_of_bounds(ptr @1, i64 5, ptr @mb.name.0), !dbg !7, !nosanitize !7"
    assert call in lines(module, "call void")
    assert lines(module, "@mb.name.0 =")[0].endswith('c"tile\\00"')
    assert name_of_symbol("_ZZL6kernelPfE4tile") == "tile"
    assert name_of_symbol("plain") == "plain"


@pytest.mark.parametrize(
    ("transform", "text", "helper"),
    [
        (check_member_bounds, MEMBERS, "mb_within"),
        (pass_origins, MEMBERS.replace("i64 1,", "i64 %1,"), "mb_moved"),
        (name_subscripts, SUBSCRIPT, "mb_out_of_bounds"),
        (check_copies, MEMBERS.replace("call void @g(", "call void @llvm.memcpy.x("), "mb_check"),
    ],
)
def test_a_missing_helper_is_an_error(transform, text, helper):
    text = text.replace("ptr noundef %next", "ptr align 4 %next")
    with pytest.raises(IrError, match=f"the module has no {helper}"):
        transform(Module(text + DEBUG))
