"""memset of interleaved per-lane arrays."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

A = np.random.default_rng(1).integers(0, 16, 32, "u4")
OUT = np.zeros(32, "u4")
MORE = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)"
FILL = "call void @llvm.memset.p0.i64(ptr %own, i8 2, i64 16, i1 false)"
EVERYONE = f"""
    %own = alloca [8 x i32], align 16
    %v = load i32, ptr %a.lane
    %k = and i32 %v, 7
    %w = zext i32 %k to i64
    %at = getelementptr i32, ptr %own, i64 %w
    {FILL}
    %rest = getelementptr i8, ptr %own, i64 16
    call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 16, i1 false)
    store i32 %v, ptr %at
    %first = getelementptr i32, ptr %own, i64 1
    %x1 = load i32, ptr %first
    store i32 %x1, ptr %out.lane"""
SOME = f"""
    %own = alloca [8 x i32], align 16
    %v = load i32, ptr %a.lane
    store i32 %v, ptr %own
    %c = icmp ult i32 %v, 8
    br i1 %c, label %then, label %end
  then:
    TOGETHER
    {FILL}
    br label %end
  end:
    %x1 = load i32, ptr %own
    store i32 %x1, ptr %out.lane"""


def test_all_lanes_fill_private_memory(check):
    def want(t, a, out):
        v = a[t.lane]
        out[t.lane] = np.where(v % 8 == 1, v, 0x02020202)

    check(EVERYONE, want, MORE, a=A, out=OUT)
    text = emit_text(EVERYONE, more=MORE, a=A, out=OUT)
    assert "i8 2, i64 512, i1 false" in text  # once, for all lanes


def test_some_lanes_fill_private_memory(check_ways):
    def want(t, a, out):
        v = a[t.lane]
        out[t.lane] = np.where(v < 8, 0x02020202, v)

    check_ways(SOME, want, MORE, a=A, out=OUT)


@pytest.mark.parametrize("length", ["i64 12", "i64 2048", "i64 %i"])
def test_fills_of_partial_elements_are_serialized(check, length):
    body = EVERYONE.replace("[8 x i32]", "[512 x i32]").replace("i64 16, i1", f"{length}, i1", 1)

    def want(t, a, out):
        v = a[t.lane]
        covered = np.arange(32)[t.lane] >= 8 if "%i" in length else np.full(len(t.lane), True)
        out[t.lane] = np.where(v % 8 == 1, v, np.where(covered, 0x02020202, out[t.lane]))

    if "%i" in length:
        text = emit_text(body, more=MORE, a=A, out=OUT)
        assert "llvm.memset" in text
    else:
        check(body, want, MORE, a=A, out=OUT)
