"""Storage of constants that hold addresses of threadgroup memory."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.shared_addresses import store_shared_addresses


def store(text: str) -> str:
    module = Module(text)
    store_shared_addresses(module)
    return str(module)


def test_store_shared_addresses_keeps_other_constants():
    ir = "@a = constant [2 x i32] [i32 1, i32 2]\n@s = addrspace(3) global [4 x i8] undef\n"
    assert store(ir) == ir


def test_store_shared_addresses_unfolds_the_addresses_of_elements():
    constant = (
        "@t = private constant [2 x ptr] [ptr addrspacecast (ptr addrspace(3) @s to ptr), "
        "ptr null], align 8\n"
    )
    body = (
        "define void @f() {\n"
        "  %1 = load ptr, ptr getelementptr inbounds ([2 x ptr], ptr @t, i64 0, i64 1), align 8\n"
        "  ret void\n}\n"
    )
    found = store(constant + body)
    assert "@t" not in found
    assert "%mb.table.0 = alloca [2 x ptr], align 8" in found
    assert "getelementptr inbounds [2 x ptr], ptr %mb.table.0, i64 0, i64 1" in found


CONSTANT = """\
@t = private addrspace(1) constant [1 x ptr] [ptr addrspacecast (ptr addrspace(3) @s to ptr)]
define void @f(ptr %p, i1 %c) {
entry:
  USE
  ret void
}
"""


def test_store_shared_addresses_copies_from_generic_memory():
    copy = "call void @llvm.memcpy.p0.p1.i64(ptr %p, ptr addrspace(1) align 8 @t, i64 8, i1 false)"
    found = store(CONSTANT.replace("USE", copy))
    assert "@llvm.memcpy.p0.p0.i64(ptr %p, ptr align 8 %mb.table.0, i64 8, i1 false)" in found
    assert "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" in found


def test_store_shared_addresses_computes_operands_of_phis_at_the_entry():
    constant = CONSTANT.replace(" addrspace(1)", "", 1).replace(
        "USE",
        "br label %loop\nloop:\n"
        "  %a = phi ptr [ getelementptr (i8, ptr @t, i64 8), %entry ], [ %a, %loop ]\n"
        "  br i1 %c, label %loop, label %end\nend:",
    )
    found = store(constant).split("\n")
    assert "  %mb.table.address.0 = getelementptr i8, ptr %mb.table.0, i64 8" in found
    assert found.index("  %mb.table.address.0 = getelementptr i8, ptr %mb.table.0, i64 8") == (
        found.index("  br label %loop") - 1
    )


def test_store_shared_addresses_raises_for_an_unknown_use():
    call = "call void @g(ptr addrspace(1) @t)"
    with pytest.raises(IrError, match="no access of a constant"):
        store(CONSTANT.replace("USE", call))
