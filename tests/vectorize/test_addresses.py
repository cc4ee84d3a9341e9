"""Addresses of elements, and interleaved private memory."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

OUT = np.zeros(32, "u4")


def test_private_elements_at_constant_and_varying_indices(check):
    """A per-lane array, written at a constant, a uniform, and a varying index."""
    body = """
        %own = alloca [8 x i32], align 4
        %v = load i32, ptr %a.lane
        store i32 0, ptr %own
        %p1 = getelementptr [8 x i32], ptr %own, i64 0, i64 1
        store i32 %v, ptr %p1
        %n64 = zext i32 %n to i64
        %pn = getelementptr i32, ptr %own, i64 %n64
        store i32 %lane, ptr %pn
        %k = and i32 %v, 7
        %k64 = zext nneg i32 %k to i64
        %pk = getelementptr [8 x i32], ptr %own, i64 0, i64 %k64
        store i32 99, ptr %pk
        %r1 = load i32, ptr %p1
        %rn = load i32, ptr %pn
        %s = add i32 %r1, %rn
        store i32 %s, ptr %out.lane
        %rk = load i32, ptr %pk
        store i32 %rk, ptr %rest.lane"""
    a = np.random.default_rng(1).integers(0, 1000, 32, "u4")

    def want(t, a, out, rest, n):
        own = np.zeros((32, 8), "u4")
        own[t.lane, 1] = a[t.lane]
        own[t.lane, n] = t.lane
        own[t.lane, a[t.lane] % 8] = 99
        out[t.lane] = own[t.lane, 1] + own[t.lane, n]
        rest[t.lane] = 99

    check(body, want, a=a, out=OUT, rest=np.zeros(32, "u4"), n=5)


@pytest.mark.parametrize("index", ["i64 %k64", "i32 %k", "i16 %k16", "i64 2"])
def test_indices_within_indices(check, index):
    """A matrix of structs: every index counts once for each lane."""
    body = f"""
        %own = alloca [4 x [3 x {{ i32, i32 }}]], align 4
        %v = load i32, ptr %a.lane
        %k = and i32 %v, 3
        %k16 = trunc i32 %k to i16
        %k64 = zext nneg i32 %k to i64
        br label %fill
      fill:
        %t = phi i64 [ 0, %entry ], [ %next, %fill ]
        %f = getelementptr i32, ptr %own, i64 %t
        %t32 = trunc i64 %t to i32
        %w = mul i32 %t32, %v
        store i32 %w, ptr %f
        %next = add nuw i64 %t, 1
        %more = icmp ult i64 %next, 24
        br i1 %more, label %fill, label %rest
      rest:
        %p = getelementptr [4 x [3 x {{ i32, i32 }}]], ptr %own, i64 0, {index}, i64 1, i32 1
        %q = getelementptr {{ i32, i32 }}, ptr %p, i64 1
        %r = load i32, ptr %p
        %s = load i32, ptr %q
        store i32 %r, ptr %out.lane
        store i32 %s, ptr %rest.lane"""
    a = np.random.default_rng(2).integers(0, 1000, 32, "u4")

    def want(t, a, out, rest):
        v = a[t.lane]
        at = (np.full_like(v, 2) if index == "i64 2" else v % 4) * 6 + 3
        out[t.lane], rest[t.lane] = at * v, (at + 2) * v

    check(body, want, a=a, out=OUT, rest=np.zeros(32, "u4"))


@pytest.mark.parametrize("n", [-1, -3])
def test_indices_may_be_negative(check, n):
    body = """
        %own = alloca [8 x i32], align 4
        %v = load i32, ptr %a.lane
        %p3 = getelementptr i32, ptr %own, i64 4
        %p1 = getelementptr i32, ptr %own, i64 1
        %p2 = getelementptr i32, ptr %own, i64 3
        store i32 %v, ptr %p1
        store i32 %v, ptr %p2
        %q = getelementptr i32, ptr %p3, i32 %n
        %r = load i32, ptr %q
        store i32 %r, ptr %out.lane"""

    def want(t, a, out, n):
        out[t.lane] = a[t.lane]

    check(body, want, a=np.arange(5, 37, dtype="u4"), out=OUT, n=n)


@pytest.mark.parametrize(
    ("type_", "dtype"), [("i8", "u1"), ("i16", "u2"), ("i32", "u4"), ("i64", "u8"), ("float", "f4")]
)
def test_private_arrays_of_every_size_of_element(check, type_, dtype):
    body = f"""
        %own = alloca [4 x {type_}], align 8
        %v = load {type_}, ptr %a.lane
        %p = getelementptr {type_}, ptr %own, i64 3
        store {type_} %v, ptr %p
        %k = and i32 %lane, 3
        %w = load i32, ptr %which.lane
        %w64 = zext i32 %w to i64
        %q = getelementptr {type_}, ptr %own, i64 %w64
        %u = load {type_}, ptr %b.lane
        store {type_} %u, ptr %q
        %r = load {type_}, ptr %p
        store {type_} %r, ptr %out.lane"""

    def want(t, a, b, which, out):
        out[t.lane] = np.where(which[t.lane] == 3, b[t.lane], a[t.lane])

    which = np.random.default_rng(3).integers(0, 4, 32, "u4")
    a, b = np.arange(32).astype(dtype), np.arange(50, 82).astype(dtype)
    check(body, want, a=a, b=b, which=which, out=np.zeros(32, dtype))


def test_private_vectors(check):
    """Vectors are interleaved by elements, in masked and unmasked blocks."""
    body = """
        %own = alloca [2 x <4 x float>], align 16
        %pa = getelementptr <4 x float>, ptr %a, i64 %i
        %v = load <4 x float>, ptr %pa, align 16
        store <4 x float> %v, ptr %own, align 16
        %second = getelementptr <4 x float>, ptr %own, i64 1
        store <4 x float> %v, ptr %second, align 16
        %e = load i32, ptr %which.lane
        %c = icmp ult i32 %e, 3
        br i1 %c, label %then, label %end
      then:
        %w = load <4 x float>, ptr %second, align 16
        %w2 = fadd <4 x float> %w, %w
        store <4 x float> %w2, ptr %own, align 16
        br label %end
      end:
        %e64 = zext i32 %e to i64
        %q = getelementptr float, ptr %own, i64 %e64
        %r = load float, ptr %q
        store float %r, ptr %out.lane"""

    def want(t, a, which, out):
        e = which[t.lane]
        found = a.reshape(32, 4)[t.lane, e % 4]
        out[t.lane] = np.where(e < 3, 2 * found, found)

    which = np.random.default_rng(4).integers(0, 8, 32, "u4")
    a = np.arange(1, 129, dtype="f4")
    check(body, want, a=a, which=which, out=np.zeros(32, "f4"))


def test_private_memory_of_several_sizes_is_not_interleaved(check):
    """Bytes are loaded from a stored word."""
    body = """
        %own = alloca [2 x i32], align 4
        %v = load i32, ptr %a.lane
        store i32 %v, ptr %own
        %p = getelementptr i8, ptr %own, i64 1
        %b = load i8, ptr %p
        %w = zext i8 %b to i32
        store i32 %w, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = a[t.lane] >> 8 & 255

    a = np.random.default_rng(5).integers(0, 2**32, 32, "u4")
    check(body, want, a=a, out=OUT)


def test_private_memory_whose_address_escapes(check):
    """To a function or to memory: each lane has a contiguous copy."""
    more = """
        define internal void @fill(ptr %p, i32 %v) noinline {
          store i32 %v, ptr %p, align 4
          %q = getelementptr i8, ptr %p, i64 4
          store i8 7, ptr %q
          ret void
        }"""
    body = """
        %own = alloca { i32, i8 }, align 4
        %v = load i32, ptr %a.lane
        call void @fill(ptr %own, i32 %v)
        %slot = alloca ptr, align 8
        store ptr %own, ptr %slot
        %same = load ptr, ptr %slot
        %r = load i32, ptr %same
        %q = getelementptr i8, ptr %same, i64 4
        %b = load i8, ptr %q
        %w = zext i8 %b to i32
        %s = add i32 %r, %w
        store i32 %s, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = a[t.lane] + 7

    a = np.random.default_rng(6).integers(0, 1000, 32, "u4")
    check(body, want, more, a=a, out=OUT)


def test_equally_written_variables_are_shared(check):
    body = """
        %own = alloca [4 x i32], align 4
        %v = load i32, ptr %a
        store i32 %v, ptr %own
        %n64 = sext i32 %n to i64
        %p = getelementptr i32, ptr %own, i64 %n64
        store i32 5, ptr %p
        %r = load i32, ptr %own
        %q = load i32, ptr %p
        %s = add i32 %r, %q
        store i32 %s, ptr %out.lane"""

    def want(t, a, out, n):
        out[t.lane] = a[0] + 5

    check(body, want, a=np.array([11], "u4"), out=OUT, n=2)
    assert "alloca [4 x i32]" in emit_text(body, a=OUT, out=OUT, n=2)


def test_varying_loads_of_a_shared_variable(check):
    """Loads at varying offsets do not make a variable per lane."""
    body = """
        %own = alloca [4 x i32], align 4
        %v = load i32, ptr %a
        store i32 %v, ptr %own
        %p1 = getelementptr i32, ptr %own, i64 1
        store i32 5, ptr %p1
        %k = load i32, ptr %which.lane
        %k64 = zext i32 %k to i64
        %q = getelementptr i32, ptr %own, i64 %k64
        %r = load i32, ptr %q
        store i32 %r, ptr %out.lane"""
    which = np.random.default_rng(7).integers(0, 2, 32, "u4")

    def want(t, a, which, out):
        out[t.lane] = np.where(which[t.lane] == 1, 5, a[0])

    check(body, want, a=np.array([11], "u4"), which=which, out=OUT)


def test_addresses_with_several_varying_parts(check):
    """A pointer that was loaded, and two indices into structs of arrays."""
    body = """
        %k = load i32, ptr %which.lane
        %k64 = zext i32 %k to i64
        %q = getelementptr [8 x { i32, [3 x i32] }], ptr %a, i64 0, i64 %k64, i32 1, i64 %l64
        %r = load i32, ptr %q
        store i32 %r, ptr %out.lane"""
    body = "%l = urem i32 %k0, 3\n%l64 = zext i32 %l to i64\n" + body
    body = "%k0 = load i32, ptr %which.lane\n" + body
    which = np.random.default_rng(8).integers(0, 8, 32, "u4")

    def want(t, a, which, out):
        k = which[t.lane]
        out[t.lane] = a.reshape(8, 4)[k, 1 + k % 3]

    check(body, want, a=np.arange(32, dtype="u4"), which=which, out=OUT)


def test_a_uniform_address_of_affine_operands(check):
    """Two affine indices with opposite strides."""
    body = """
        %up = zext nneg i32 %lane to i64
        %down = sub i64 31, %up
        %p = getelementptr i32, ptr %a, i64 %up
        %q = getelementptr i32, ptr %p, i64 %down
        %r = load i32, ptr %q
        store i32 %r, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = a[31]

    check(body, want, a=np.arange(32, dtype="u4"), out=OUT)


def test_addresses_in_the_arena(check):
    """Threadgroup memory: 0, 1, 2 ... as each launch here begins."""
    body = """
        %k = load i32, ptr %which.lane
        %k64 = zext i32 %k to i64
        %q = getelementptr i8, ptr %arena, i64 %k64
        %r = load i8, ptr %q
        %w = zext i8 %r to i32
        store i32 %w, ptr %out.lane"""
    which = np.random.default_rng(9).integers(0, 256, 32, "u4")

    def want(t, which, out):
        out[t.lane] = which[t.lane]

    check(body, want, which=which, out=OUT)
