"""Rows at addresses that need a run-time check."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

# An index of eight bits may wrap on the way from lane to lane. Numbers follow it in separate bits.
HEAD = """
        %t = trunc i32 %index to i8
        %f = trunc i32 %first to i8
        %s = mul i8 %t, STEP
        %k = add i8 %f, %s
        %w = zext i8 %k to i64
        %q0 = getelementptr KIND, ptr %a, i64 %w
        %p0 = getelementptr KIND, ptr %out, i64 %w
"""


def body(count: int, step: int, kind: str) -> str:
    """Return a body in which lanes copy `count` elements at a stride of `step`."""
    parts = [
        f"%q{k} = getelementptr {kind}, ptr %q0, i64 {k}\n"
        f"%p{k} = getelementptr {kind}, ptr %p0, i64 {k}"
        for k in range(1, count)
    ]
    parts += [f"%v{k} = load {kind}, ptr %q{k}" for k in range(count)]
    parts += [f"store {kind} %v{k}, ptr %p{k}" for k in range(count)]
    return HEAD.replace("STEP", str(step)).replace("KIND", kind) + "\n".join(parts)


@pytest.mark.parametrize("first", [0, 100, 128, 132, 250])
@pytest.mark.parametrize(
    ("count", "step", "kind"),
    [(1, 1, "i32"), (4, 4, "i32"), (4, 4, "i16"), (4, 8, "i32"), (2, 2, "i32"), (2, 2, "i64")],
)
def test_rows_with_possible_overflow(check, count, step, kind, first):
    def want(t, a, out, first):
        for k in range(count):
            at = (t.index * step + int(first)) % 256 + k
            out[at] = a[at]

    type_ = f"u{int(kind[1:]) // 8}"
    a = np.arange(260, dtype=type_) + np.array(7, type_)
    check(body(count, step, kind), want, a=a, out=np.zeros(260, type_), first=first)


def test_rows_are_shuffled_once():
    """From the row, or from the temporary row after a copy."""
    arrays = {name: np.zeros(260, "u4") for name in ("a", "out")}
    text = emit_text(body(4, 4, "i32"), **arrays, first=0)
    assert text.count("= phi ptr [") == 1
    rows = emit_text(body(4, 4, "i32").replace("zext", "zext nneg"), **arrays, first=0)
    assert "phi ptr" not in rows
    assert text.count("shufflevector") == rows.count("shufflevector") > 0


@pytest.mark.parametrize("kind", ["i32", "float"])
def test_four_words_at_varying_addresses(check_ways, kind):
    """Loaded and stored as quads, in all shapes of launch."""
    parts = "\n".join(
        f"%q{k} = getelementptr {kind}, ptr %q, i64 {k}\n%v{k} = load {kind}, ptr %q{k}"
        for k in range(4)
    )
    parts += "\n" + "\n".join(
        f"%p{k} = getelementptr {kind}, ptr %p, i64 {3 - k}" for k in range(4)
    )
    parts += "\n" + "\n".join(f"store {kind} %v{3 - k}, ptr %p{3 - k}" for k in range(4))
    text = f"""
        TOGETHER
        %at = load i64, ptr %where.lane
        %part = icmp ult i32 %lane, %n
        br i1 %part, label %yes, label %no
      yes:
        TOGETHER
        %q = getelementptr {kind}, ptr %a, i64 %at
        %p = getelementptr {kind}, ptr %out, i64 %at
        {parts}
        br label %no
      no:
        ret void"""

    def want(t, a, out, where, n):
        for lane in t.lane[t.lane < int(n)]:
            at = int(where[lane])
            out[at : at + 4] = a[at : at + 4][::-1]

    type_ = "f4" if kind == "float" else "u4"
    where = np.random.default_rng(3).permutation(32).astype("i8") * 5
    a = np.arange(170, dtype=type_) + np.array(1, type_)
    for n in (32, 19):
        check_ways(text, want, a=a, out=np.zeros(170, type_), where=where, n=n)


def test_four_words_anywhere_are_one_access():
    body_ = """
        %at = load i64, ptr %where.lane
        %q0 = getelementptr i32, ptr %a, i64 %at
        %q1 = getelementptr i32, ptr %q0, i64 1
        %q2 = getelementptr i32, ptr %q0, i64 2
        %q3 = getelementptr i32, ptr %q0, i64 3
        %v0 = load i32, ptr %q0
        %v1 = load i32, ptr %q1
        %v2 = load i32, ptr %q2
        %v3 = load i32, ptr %q3
        %s = add i32 %v0, %v1
        %u = add i32 %v2, %v3
        %r = add i32 %s, %u
        store i32 %r, ptr %a.lane"""
    text = emit_text(body_, a=np.zeros(64, "u4"), where=np.zeros(32, "i8"))
    assert text.count("load <4 x i32>, ptr") == 4  # of four lanes at once, in one loop
