"""Divisions that do not trap: in inactive lanes, and of the least number."""

from __future__ import annotations

import math

import numpy as np
import pytest


def quotient(opcode: str, one: np.uint32, other: np.uint32) -> int:
    """Rounded to zero, and what remains."""
    a, b = (int(each.view("i4") if opcode[0] == "s" else each) for each in (one, other))
    whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return whole if opcode.endswith("div") else int(math.fmod(a, b))


@pytest.mark.parametrize("opcode", ["udiv", "urem", "sdiv", "srem"])
def test_inactive_lanes_do_not_divide(check_groups, opcode):
    """Theirs may be a division by zero; SIMD-group functions keep the region one of all lanes."""
    body = f"""
        %va = load i32, ptr %a.lane
        %vb = load i32, ptr %b.lane
        %c = icmp ne i32 %vb, 0
        br i1 %c, label %then, label %end
      then:
        %q = {opcode} i32 %va, %vb
        %many = call i32 @mb_vector_sum_u32(i32 1)
        %r = add i32 %q, %many
        store i32 %r, ptr %out.lane
        br label %end
      end:
        ret void"""
    rng = np.random.default_rng(8)
    a, b = (rng.integers(0, 2**32, 32, "u4") for _ in "ab")
    b[1::3] = 0

    def want(t, a, b, out):
        lanes = t.lane[b[t.lane] != 0]
        found = [quotient(opcode, *pair) for pair in zip(a[lanes], b[lanes], strict=True)]
        out[lanes] = np.array(found, "i8") % 2**32 + len(lanes)

    check_groups(body, want, a=a, b=b, out=np.zeros(32, "u4"))


@pytest.mark.parametrize("where", [".lane", ""], ids=["varying", "uniform"])
def test_the_minimum_divided_by_minus_one_is_itself(check, where):
    body = f"""
        %va = load i32, ptr %a{where}
        %vb = load i32, ptr %b{where}
        %q = sdiv i32 %va, %vb
        %r = srem i32 %va, %vb
        store i32 %q, ptr %quotients.lane
        store i32 %r, ptr %rests.lane"""

    def want(t, a, b, quotients, rests):
        quotients[t.lane], rests[t.lane] = -(2**31), 0

    zeros = {name: np.zeros(32, "i4") for name in ("quotients", "rests")}
    check(body, want, a=np.full(32, -(2**31), "i4"), b=np.full(32, -1, "i4"), **zeros)
