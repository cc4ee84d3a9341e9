"""Bitcasts between scalars, vectors, and uniform values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from vectorize.launches import emit_text

from metalbench.msl.ir.text import IrError

TYPES = {
    "i64": "u8",
    "i32": "u4",
    "i16": "u2",
    "double": "f8",
    "float": "f4",
    "half": "f2",
    "<2 x i32>": "u4",
    "<4 x i8>": "u1",
    "<2 x half>": "f2",
    "<4 x half>": "f2",
    "<8 x i8>": "u1",
    "<2 x i16>": "u2",
    "<4 x i16>": "u2",
    "<2 x float>": "f4",
    "<4 x float>": "f4",
    "<2 x double>": "f8",
    "<2 x i64>": "u8",
    "<4 x i32>": "u4",
    "<16 x i8>": "u1",
    "<8 x bfloat>": ml_dtypes.bfloat16,
    "<2 x i8>": "u1",
    "i128": "u8",
}
PAIRS = [
    *[("i64", "<2 x i32>"), ("<2 x i32>", "i64"), ("i64", "<8 x i8>"), ("<8 x i8>", "i64")],
    *[("<4 x i8>", "i32"), ("i32", "<4 x i8>"), ("i32", "<2 x half>"), ("<2 x half>", "i32")],
    *[("double", "<4 x i16>"), ("<4 x i16>", "double"), ("<2 x i8>", "half")],
    *[("<8 x i8>", "<2 x float>"), ("<2 x float>", "<8 x i8>"), ("<4 x float>", "<2 x double>")],
    *[("<2 x i64>", "<4 x float>"), ("<16 x i8>", "<2 x i64>"), ("<4 x i32>", "<8 x bfloat>")],
    *[("<4 x float>", "<4 x i32>"), ("<2 x i32>", "<2 x float>"), ("<2 x i64>", "<4 x i32>")],
]


@pytest.mark.parametrize("address", ["%a", "%pa"], ids=["uniform", "varying"])
@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_bits(check, of, to, address):
    body = f"""
        %pa = getelementptr {of}, ptr %a, i64 %i
        %v = load {of}, ptr {address}, align 1
        %r = bitcast {of} %v to {to}
        %po = getelementptr {to}, ptr %out, i64 %i
        store {to} %r, ptr %po, align 1"""
    size = np.dtype(TYPES[of]).itemsize * int(of[1:3] if of[0] == "<" else 1)
    # Small exponents: no NaN, whose bits are undefined.
    bits = np.random.default_rng(2).integers(0, 0x3C, 32 * size, "u1")
    a, out = bits.view(TYPES[of]), np.zeros(32 * size, "u1").view(TYPES[to])

    def want(t, a, out):
        rows = a.view("u1").reshape(32, size)
        out.view("u1").reshape(32, size)[t.lane] = rows[0] if address == "%a" else rows[t.lane]

    check(body, want, a=a, out=out)


def test_conditions_as_a_number_are_refused():
    body = """
        %pa = getelementptr <8 x i8>, ptr %a, i64 %i
        %v = load <8 x i8>, ptr %pa
        %c = icmp eq <8 x i8> %v, zeroinitializer
        %b = bitcast <8 x i1> %c to i8
        store i8 %b, ptr %out.lane"""
    with pytest.raises(IrError, match="cannot bitcast elements of type i1"):
        emit_text(body, a=np.zeros(8, "u1"), out=np.zeros(8, "u1"))
