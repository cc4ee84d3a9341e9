"""Serialization: functions that are not inlined, fences, copies."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

OUT = np.zeros(32, "u4")


HASH = """
define internal i32 @hash(i32 %v) noinline {
  %m = mul i32 %v, 2654435761
  %s = lshr i32 %m, 7
  %r = xor i32 %m, %s
  ret i32 %r
}"""
COUNT = """
define internal i32 @count(ptr %p, i32 %v) noinline {
  %before = atomicrmw add ptr %p, i32 %v monotonic, align 4
  ret i32 %before
}
define internal i32 @through(ptr %p, i32 %v) noinline {
  %r = call i32 @count(ptr %p, i32 %v)
  ret i32 %r
}"""


def hash_value(v: np.ndarray) -> np.ndarray:
    m = (v.astype("u8") * 2654435761 % 2**32).astype("u4")
    return m ^ m >> 7


def test_noinline_functions(check):
    """Once for each lane, or once for all if it comes to the same."""
    body = """
        %v = load i32, ptr %a.lane
        %r = call i32 @hash(i32 noundef %v)
        %u = call i32 @hash(i32 noundef %n)
        %s = add i32 %r, %u
        store i32 %s, ptr %out.lane"""

    def want(t, a, out, n):
        out[t.lane] = hash_value(a[t.lane]) + hash_value(np.array([n], "u4"))

    check(body, want, HASH, a=np.arange(32, dtype="u4"), out=OUT, n=1234)
    text = emit_text(body, more=HASH, a=OUT, out=OUT, n=1)
    assert text.count("call i32 @hash") == 2


@pytest.mark.parametrize("name", ["count", "through"])
def test_functions_with_atomic_updates_inside(check, name):
    """Each lane calls them, even with operands that are all alike."""
    body = f"""
        %r = call i32 @{name}(ptr %counter, i32 %n)
        store i32 %r, ptr %out.lane"""

    def want(t, counter, out, n):
        out[t.lane] = counter[0] + np.arange(len(t.lane)) * n
        counter[0] += np.uint32(n * len(t.lane))

    check(body, want, COUNT, counter=np.array([5], "u4"), out=OUT, n=3)


def test_calls_of_active_lanes(check_groups):
    body = """
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 10
        br i1 %c, label %then, label %end
      then:
        call void @llvm.donothing()
        %r = call i32 @count(ptr %counter, i32 %v)
        %many = call i32 @mb_vector_sum_u32(i32 %r)
        store i32 %many, ptr %out.lane
        br label %end
      end:
        ret void"""

    def want(t, a, counter, out):
        active = t.lane[a[t.lane] < 10]
        before = counter[0] + np.cumsum(a[active]) - a[active]
        out[active] = before.sum()
        counter[0] += a[active].sum(dtype="u4")

    a = np.random.default_rng(4).integers(0, 20, 32, "u4")
    more = COUNT + "\ndeclare void @llvm.donothing()"
    check_groups(body, want, more, a=a, counter=np.array([5], "u4"), out=OUT)


def test_operands_and_results_of_every_kind(check):
    """Conditions, pointers, structs and vectors go in and come out."""
    more = """
        define internal { i1, ptr, <2 x float> } @all(i1 %c, ptr %p, <2 x float> %v, i16 %s) noinline {
          %not = xor i1 %c, true
          %q = getelementptr i8, ptr %p, i16 %s
          %w = fadd <2 x float> %v, %v
          %a = insertvalue { i1, ptr, <2 x float> } poison, i1 %not, 0
          %b = insertvalue { i1, ptr, <2 x float> } %a, ptr %q, 1
          %r = insertvalue { i1, ptr, <2 x float> } %b, <2 x float> %w, 2
          ret { i1, ptr, <2 x float> } %r
        }"""
    body = """
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 10
        %s = trunc i32 %v to i16
        %s4 = shl i16 %s, 2
        %pv = getelementptr <2 x float>, ptr %vectors, i64 %i
        %w = load <2 x float>, ptr %pv
        %r = call { i1, ptr, <2 x float> } @all(i1 %c, ptr %out, <2 x float> %w, i16 %s4)
        %not = extractvalue { i1, ptr, <2 x float> } %r, 0
        %q = extractvalue { i1, ptr, <2 x float> } %r, 1
        %w2 = extractvalue { i1, ptr, <2 x float> } %r, 2
        %n = zext i1 %not to i32
        store i32 %n, ptr %q
        store <2 x float> %w2, ptr %pv"""

    def want(t, a, vectors, out):
        out[a[t.lane]] = a[t.lane] >= 10
        vectors.reshape(32, 2)[t.lane] *= 2

    a = np.random.default_rng(5).permutation(32).astype("u4")
    check(body, want, more, a=a, vectors=np.arange(64, dtype="f4"), out=np.full(32, 9, "u4"))


def test_fences(check):
    body = """
        store i32 %lane, ptr %out.lane
        fence syncscope("singlethread") seq_cst
        %v = load i32, ptr %out.lane
        store i32 %v, ptr %rest.lane"""

    def want(t, out, rest):
        out[t.lane] = rest[t.lane] = t.lane

    check(body, want, out=OUT, rest=OUT)
    assert 'fence syncscope("singlethread") seq_cst' in emit_text(body, out=OUT, rest=OUT)


def test_copies_of_memory(check):
    """Each lane's own, and one that is the same for all."""
    more = """
        declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
        declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)"""
    body = """
        %from = getelementptr [3 x i32], ptr %a, i64 %i
        %to = getelementptr [3 x i32], ptr %out, i64 %i
        call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 12, i1 false)
        %last = getelementptr i8, ptr %to, i64 8
        %k = load i32, ptr %b.lane
        %b8 = trunc i32 %k to i8
        call void @llvm.memset.p0.i64(ptr %last, i8 %b8, i64 4, i1 false)
        call void @llvm.memcpy.p0.p0.i64(ptr %once, ptr %a, i64 8, i1 false)"""

    def want(t, a, b, out, once):
        rows = out.reshape(32, 3)
        rows[t.lane] = a.reshape(32, 3)[t.lane]
        rows[t.lane, 2] = (b[t.lane] % 256) * np.uint32(0x01010101)
        once[:2] = a[:2]

    a = np.random.default_rng(7).integers(0, 2**32, 96, "u4")
    b = np.random.default_rng(8).integers(0, 2**32, 32, "u4")
    check(body, want, more, a=a, b=b, out=np.zeros(96, "u4"), once=np.zeros(4, "u4"))
