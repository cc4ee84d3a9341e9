"""Shifts by any amount, which Metal defines: it counts modulo the width."""

from __future__ import annotations

import numpy as np
import pytest

WIDTHS = {"int": 32, "uint": 32, "long": 64, "ulong": 64}
DTYPES = {"int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}
AMOUNTS = np.array([0, 1, 31, 32, 33, 63, 64, 65, 100, -1], "i4")


@pytest.mark.parametrize("kind", WIDTHS)
def test_amounts_count_modulo_the_width(elementwise, kind):
    a, width = np.full(len(AMOUNTS), -7).astype(DTYPES[kind]), WIDTHS[kind]
    by = (AMOUNTS % width).astype(a.dtype)
    assert elementwise("a << b", a, AMOUNTS, result=kind).tolist() == (a << by).tolist()
    assert elementwise("a >> b", a, AMOUNTS, result=kind).tolist() == (a >> by).tolist()


def test_constant_amounts_count_modulo_the_width(elementwise):
    a = np.array([12], "i4")
    assert elementwise("(a >> 33) + (a << 34)", a, result="int")[0] == 6 + 48


def test_shifts_in_every_execution_mode(threadgroup):
    x = np.resize(AMOUNTS, 64)
    y = threadgroup("y[tid] = simd_sum(1) << x[tid];", x, result="int", threads=64)
    assert y.tolist() == (np.int32(32) << x % 32).astype("i4").tolist()
    y = threadgroup("y[tid] = simd_sum(1) >> simd_max(x[tid]);", x, result="int", threads=64)
    assert y.tolist() == [32 >> 100 % 32] * 64
