"""Affine values, also where they may wrap."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest
from vectorize.launches import ROWS, emit_text

RELATIONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "gt", "ge")}
OUT = np.zeros(32, "u4")


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("%r = add nuw i32 %x, %n", lambda t, n: t.x + n),
        ("%r = sub i32 %n, %index", lambda t, n: n - t.index),
        ("%r = sub i32 %index, %x", lambda t, n: t.index - t.x),
        ("%r = mul i32 %x, 12", lambda t, n: t.x * 12),
        ("%r = mul i32 %index, -3", lambda t, n: t.index * -3),
        ("%r = shl nuw nsw i32 %index, 3", lambda t, n: t.index * 8),
        ("%r = or disjoint i32 %index, 4096", lambda t, n: t.index + 4096),
        ("%r = freeze i32 %index", lambda t, n: t.index),
        ("%r = mul i32 %index, %n", lambda t, n: t.index * n),
        ("%r = xor i32 %lane, 5", lambda t, n: t.lane ^ 5),
        ("%r = and i32 %lane, 3", lambda t, n: t.lane & 3),
        ("%r = udiv i32 100, %lane1", lambda t, n: 100 // (t.lane + 1)),
        ("%r = select i1 %u, i32 %index, i32 %more", lambda t, n: t.index + 8 * (n <= 3)),
        ("%r = call i32 @llvm.umax.i32(i32 %lane, i32 7)", lambda t, n: np.maximum(t.lane, 7)),
    ],
)
@pytest.mark.parametrize("n", [3, 7])
def test_integers(check, line, function, n):
    body = f"""
        %u = icmp ugt i32 %n, 3
        %more = add i32 %index, 8
        %lane1 = add i32 %lane, 1
        {line}
        store i32 %r, ptr %out.lane"""

    def want(t, out, n):
        out[t.lane] = (function(t, n) % 2**32).astype("u4")

    check(body, want, "declare i32 @llvm.umax.i32(i32, i32)", out=OUT, n=n)


def test_truncated_and_used_by_another_block(check):
    body = """
        %big = mul i32 %index, 1000
        %t = trunc i32 %big to i16
        %c = icmp sgt i32 %n, 0
        br i1 %c, label %then, label %end
      then:
        %more = add i16 %t, 1
        br label %end
      end:
        %r = phi i16 [ %t, %entry ], [ %more, %then ]
        %w = zext i16 %r to i32
        store i32 %w, ptr %out.lane"""

    def want(t, out, n):
        out[t.lane] = (t.index * 1000 + 1) % 2**16

    check(body, want, out=OUT, n=1)


def test_affine_values_are_computed_once():
    text = emit_text(
        """
        %v = add i32 %x, %n
        %w = mul i32 %v, 4
        %at = zext nneg i32 %x to i64
        %q = getelementptr i32, ptr %out, i64 %at
        store i32 %w, ptr %q""",
        out=OUT,
        n=5,
    )
    assert "mul i32" in text
    assert "mul <32 x i32>" not in text


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("%at = sub i32 %lane, %n", lambda t, n: t.lane - n),
        ("%at = sub i32 %n, %lane", lambda t, n: n - t.lane),
        ("%at = add i32 %lane, -7", lambda t, n: t.lane - 7),
    ],
)
@pytest.mark.parametrize("n", [1, 7])
def test_a_negative_index_of_lanes_that_do_not_use_it(check, line, function, n):
    """The flag `nneg` holds for the lanes whose address is chosen. Lane 0 may not be among them."""
    body = f"""
        {line}
        %wide = zext nneg i32 %at to i64
        %from = getelementptr i32, ptr %data, i64 %wide
        %is = icmp sge i32 %at, 0
        %chosen = select i1 %is, ptr %from, ptr %other
        %r = load i32, ptr %chosen
        store i32 %r, ptr %out.lane"""

    def want(t, out, n, data, other):
        at = function(t, n)
        out[t.lane] = np.where(at >= 0, data[np.maximum(at, 0)], other[0])

    data, other = np.arange(100, 200, dtype="u4"), np.array([7], "u4")
    check(body, want, out=OUT, n=n, data=data, other=other)


@pytest.mark.parametrize("widening", ["zext", "sext"])
@pytest.mark.parametrize("step", [1, -1, 3])
@pytest.mark.parametrize("edge", [0, 2**31, 2**32])
@pytest.mark.parametrize("before", [4, 17, 40])
def test_values_with_possible_overflow_are_checked(check, widening, step, edge, before):
    """Rows across the edge of the narrow numbers, and such that end before it.

    The array has what lies at both of its ends; the sum with a base as large brings it back.
    """
    first = edge - before
    body = f"""
        %s = mul i32 %index, {step}
        %k = add i32 %s, %start
        %w = {widening} i32 %k to i64
        %at = and i64 %w, 255
        %there = sub i64 %w, %at
        %high = trunc i64 %there to i32
        %higher = lshr i64 %w, 32
        %top = trunc i64 %higher to i32
        %q = getelementptr i32, ptr %a, i64 %at
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane
        store i32 %high, ptr %rest.lane
        store i32 %top, ptr %tops.lane"""
    start = first - 64 * step

    def want(t, a, out, rest, tops, start):
        k = (t.index * step + int(start)) % 2**32
        w = np.where((k >= 2**31) & (widening == "sext"), k - 2**32, k)
        out[t.lane] = a[w % 256]
        rest[t.lane] = (w - w % 256) % 2**32
        tops[t.lane] = (w >> 32) % 2**32

    start = (start + 2**31) % 2**32 - 2**31
    a = np.random.default_rng(1).integers(0, 2**32, 256, "u4")
    zeros = {name: np.zeros(32, "u4") for name in ("out", "rest", "tops")}
    check(body, want, a=a, **zeros, start=start)


@pytest.mark.parametrize("first", [5, 250, 256 - 32, 256 - 31])
def test_offsets_with_overflow_before_extension(check, first):
    """Both versions of an access: one row, and each lane's own place."""
    body = """
        %t = trunc i32 %lane to i8
        %f = trunc i32 %first to i8
        %k = add i8 %f, %t
        %w = zext i8 %k to i64
        %q = getelementptr i16, ptr %a, i64 %w
        %v = load i16, ptr %q
        %p = getelementptr i16, ptr %out, i64 %w
        store i16 %v, ptr %p"""

    def want(t, a, out, first):
        at = (t.lane + int(first)) % 256
        out[at] = a[at]

    a = np.arange(256, dtype="u2") + np.uint16(7)
    check(body, want, a=a, out=np.zeros(256, "u2"), first=first)


def test_a_checked_address_has_both_versions():
    text = emit_text(
        """
        %k = add i32 %x, %n
        %w = zext i32 %k to i64
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane""",
        a=OUT,
        out=OUT,
        n=0,
    )
    (place,) = re.findall(r"(%[\w.]+) = phi ptr \[", text)
    assert f"load <32 x i32>, ptr {place}" in text
    assert "else." in text


def test_a_checked_value_that_another_block_uses(check):
    body = """
        %k = add i32 %index, %start
        %w = zext i32 %k to i64
        %v = load i32, ptr %a.lane
        %c = icmp ugt i32 %v, 10
        br i1 %c, label %then, label %end
      then:
        %q = getelementptr i8, ptr %bytes, i64 %w
        store i8 1, ptr %q
        br label %end
      end:
        %p = phi i64 [ %w, %entry ], [ 5, %then ]
        %r = trunc i64 %p to i32
        store i32 %r, ptr %out.lane"""

    def want(t, a, bytes, out, start):
        taken = a[t.lane] > 10
        bytes[(t.index + int(start))[taken]] = 1
        out[t.lane] = np.where(taken, 5, t.index + int(start))

    a = np.random.default_rng(3).integers(0, 20, 32, "u4")
    check(body, want, a=a, bytes=np.zeros(128, "u1"), out=OUT, start=-20)


@pytest.mark.parametrize("n", [0, 1])
def test_a_checked_value_through_a_loop(check, n):
    """A checked affine phi: its slots hold the scalar and the vectors."""
    body = """
        %k = add i32 %index, %start
        %w = zext i32 %k to i64
        br label %loop
      loop:
        %at = phi i64 [ %w, %entry ], [ %next, %loop ]
        %turn = phi i32 [ 0, %entry ], [ %more, %loop ]
        %q = getelementptr i32, ptr %a, i64 %at
        %v = load i32, ptr %q
        %sum = add i32 %v, %turn
        store i32 %sum, ptr %q
        %next = add i64 %at, 40
        %more = add i32 %turn, 1
        %c = icmp ult i32 %turn, %n
        br i1 %c, label %loop, label %end
      end:
        ret void"""

    def want(t, a, start, n):
        for turn in range(n + 1):
            at = t.index + int(start) + 40 * turn
            a[at] += np.uint32(turn)

    check(body, want, a=np.arange(128, dtype="u4"), start=-50, n=n)


def test_constants_are_folded():
    text = emit_text(
        """
        %k = xor i32 %lane, 1
        %m = mul i32 %k, 3
        %r = add i32 %m, %n
        store i32 %r, ptr %out.lane""",
        out=OUT,
        n=1,
    )
    assert "<i32 3, i32 0, i32 9" in text
    assert "mul" not in text


def test_uniform_values_are_scalars():
    text = emit_text(
        "%v = add i32 %n, 1\n%w = mul i32 %v, %v\nstore i32 %w, ptr %out", ROWS, out=OUT, n=1
    )
    assert "<32 x" not in text


def test_a_comparison_of_affine_indices_compares_the_ends():
    """Contiguous indices below a bound: two scalar comparisons while lanes are convergent."""
    body = """
        %c = icmp ult i32 %x, %n
        br i1 %c, label %then, label %end
      then:
        %q = getelementptr i32, ptr %out, i64 %i
        store i32 1, ptr %q
        br label %end
      end:
        ret void"""
    text = emit_text(body, out=np.zeros(32, "u4"), n=5)
    first = text[: text.index("convergent")]
    assert first.count("icmp ult i32") == 2


@pytest.mark.parametrize("n", [0, 16, 17, 30, 47, 48, 49, -1])
@pytest.mark.parametrize("relation", ["ult", "slt", "ugt", "sge", "eq", "ne"])
def test_bounds_of_rows(check_form, relation, n):
    body = f"""
        %c = icmp {relation} i32 %x, %n
        br i1 %c, label %then, label %end
      then:
        store i32 1, ptr %out.lane
        br label %end
      end:
        ret void"""
    compare = RELATIONS[relation[-2:]]

    def want(t, out, n):
        bound = int(n) % 2**32 if relation[0] == "u" else int(n)
        out[t.lane[compare(t.x, bound)]] = 1

    check_form(ROWS, body, want, out=np.zeros(32, "u4"), n=n)


@pytest.mark.parametrize("start", [2**32 - 60, 2**32 - 16 - 5, 2**31 - 16 - 5, -(2**31) - 20])
@pytest.mark.parametrize("relation", ["ult", "slt", "uge"])
def test_bounds_of_rows_with_overflow(check_form, relation, start):
    """If indices wrap, the ends do not determine the lanes between them."""
    body = f"""
        %v = add i32 %x, %start
        %c = icmp {relation} i32 %v, 100
        br i1 %c, label %then, label %end
      then:
        store i32 1, ptr %out.lane
        br label %end
      end:
        ret void"""
    compare = RELATIONS[relation[-2:]]

    def want(t, out, start):
        values = (t.x + start) % 2**32
        if relation[0] == "s":
            values = np.where(values < 2**31, values, values - 2**32)
        out[t.lane[compare(values, 100)]] = 1

    start = start % 2**32
    start = start - 2**32 if start >= 2**31 else start
    check_form(ROWS, body, want, out=np.zeros(32, "u4"), start=start)
