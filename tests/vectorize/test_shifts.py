"""Shifts by as many bits as there are and more: the amount counts modulo the width."""

from __future__ import annotations

import numpy as np
import pytest

AMOUNTS = np.resize(np.array([0, 1, 31, 32, 33, 63, 64, -1], "i4"), 32).view("u4")


def shift(opcode: str, value: int, amount: int) -> int:
    by = amount % 32
    if opcode == "shl":
        return value << by & 0xFFFFFFFF
    signed = value - (value >> 31 << 32) if opcode == "ashr" else value
    return signed >> by & 0xFFFFFFFF


@pytest.mark.parametrize("opcode", ["shl", "lshr", "ashr"])
def test_amounts_count_modulo_the_width(check, opcode):
    body = f"""
        %va = load i32, ptr %a.lane
        %vb = load i32, ptr %b.lane
        %r = {opcode} i32 %va, %vb
        store i32 %r, ptr %out.lane"""
    a = np.random.default_rng(4).integers(0, 2**32, 32, "u4")

    def want(t, a, b, out):
        pairs = zip(a[t.lane].tolist(), b[t.lane].tolist(), strict=True)
        out[t.lane] = [shift(opcode, *pair) for pair in pairs]

    check(body, want, a=a, b=AMOUNTS, out=np.zeros(32, "u4"))


@pytest.mark.parametrize("amount", [32, 35, 2**32 - 1])
def test_uniform_amounts_count_modulo_the_width(check, amount):
    body = """
        %va = load i32, ptr %a
        %vb = load i32, ptr %b
        %r = ashr i32 %va, %vb
        store i32 %r, ptr %out.lane"""

    def want(t, a, b, out):
        out[t.lane] = shift("ashr", 0x80000001, amount)

    arrays = {"a": np.full(32, 0x80000001, "u4"), "b": np.full(32, amount, "u4")}
    check(body, want, **arrays, out=np.zeros(32, "u4"))
