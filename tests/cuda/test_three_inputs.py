"""Two steps of logic with two constants become one instruction, where nobody would notice."""

from __future__ import annotations

import itertools
import re

import pytest

from metalbench.msl.building.three_inputs import with_three_inputs


def _lines(*lines: str) -> str:
    return "\n".join(f"\t{line}" for line in lines)


def _of(function: int, inputs: tuple[int, int, int]) -> int:
    """What `lop3` makes of three words, bit by bit."""
    result = 0
    for bit in range(8):
        a, b, c = (each >> bit & 1 for each in inputs)
        result |= (function >> (a * 4 + b * 2 + c) & 1) << bit
    return result


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product(("and", "or", "xor"), repeat=2))
)
def test_the_function_is_that_of_both_steps(first, second):
    python = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
    made = with_three_inputs(
        _lines(f"{first}.b32 \t%r2, %r1, 92;", f"{second}.b32 \t%r3, %r2, 181;")
    )
    found = re.fullmatch(r"\tlop3\.b32 \t%r3, %r1, 92, 181, (\d+);", made)
    assert found
    for x in range(256):
        assert _of(int(found[1]), (x, 92, 181)) == python[second](python[first](x, 92), 181)


APART = {
    "another wants the first": (
        "and.b32 \t%r2, %r1, 15;",
        "or.b32 \t%r3, %r2, 16;",
        "add.s32 \t%r4, %r2, 1;",
    ),
    "the input changes between": (
        "and.b32 \t%r2, %r1, 15;",
        "mov.b32 \t%r1, %r5;",
        "or.b32 \t%r3, %r2, 16;",
    ),
    "the input is loaded between": (
        "and.b32 \t%r2, %r1, 15;",
        "ld.global.v2.b32 \t{%r7, %r1}, [%rd1];",
        "or.b32 \t%r3, %r2, 16;",
    ),
    "others come between": (
        "and.b32 \t%r2, %r1, 15;\n$L__BB0_1:",
        "or.b32 \t%r3, %r2, 16;",
        "mov.b32 \t%r1, %r3;",
    ),
    "the constant is of one step only": (
        "and.b32 \t%r2, %r1, %r4;",
        "or.b32 \t%r3, %r2, 16;",
    ),
    "text of users says what nobody knows": (
        "and.b32 \t%r2, %r1, 15;",
        "{ .reg .u32 t; mov.u32 t, 1; mov.b32 %r1, t; }",
        "or.b32 \t%r3, %r2, 16;",
    ),
}


@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_they_stay_apart_where(lines):
    text = _lines(*lines)
    assert with_three_inputs(text) == text


def test_what_lies_between_stays_where_it_is():
    made = with_three_inputs(
        _lines(
            "and.b32 \t%r2, %r1, 15;",
            "st.global.b32 \t[%rd1], %r1;",
            "$L__tmp7:",
            "add.f32 \t%f1, %f2, %f3;",
            "or.b32 \t%r3, %r2, 1258291200;",
        )
    )
    assert made.split("\n") == [
        "\tst.global.b32 \t[%rd1], %r1;",
        "\t$L__tmp7:",
        "\tadd.f32 \t%f1, %f2, %f3;",
        "\tlop3.b32 \t%r3, %r1, 15, 1258291200, 234;",
    ]
