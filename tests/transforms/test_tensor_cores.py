"""Calls for matrices that become instructions of tensor cores (see also test_matrices.py)."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.tensor_cores import lower_matrices

KERNEL = """\
define void @f(ptr %0, i1 %1, i32 %2, i32 %3) {
  %5 = call i32 @mb_matrix_word(ptr %0, i64 8, i1 false)
  %6 = call { float, float } @mb_add_halves(float 0.0, float 0.0, i32 %2, i32 %3)
  store { float, float } %6, ptr %0
  ret void
}

declare i32 @mb_matrix_word(ptr, i64, i1)
declare { float, float } @mb_add_halves(float, float, i32, i32)
"""


def lower(text: str) -> str:
    module = Module(text)
    lower_matrices(module)
    return str(module)


def test_lower_matrices_replaces_words_and_products_and_removes_their_declarations():
    text = lower(KERNEL)
    assert "@mb_" not in text
    assert text.count("load i16, ptr") == 2
    assert "call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(" in text
    assert "\ndeclare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n" in text


@pytest.mark.parametrize(
    ("call", "changed"),
    [("i1 false", "i1 %1"), ("@mb_add_halves(float 0.0, ", "@mb_add_halves(")],
)
def test_lower_matrices_raises_for_an_unknown_call(call, changed):
    with pytest.raises(IrError, match="matri"):
        lower(KERNEL.replace(call, changed, 1))
