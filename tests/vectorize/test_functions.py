"""Combining two vectors, and reductions of one vector."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("type_", ["half", "float"])
def test_the_lesser_and_the_greater_of_numbers(check, type_):
    """LLVM would call a library's function for vectors of halves, and there is none."""
    suffix = {"half": "f16", "float": "f32"}[type_]
    body = f"""
        %v = load {type_}, ptr %a.lane
        %w = load {type_}, ptr %b.lane
        %r = call {type_} @llvm.minnum.{suffix}({type_} %v, {type_} %w)
        %s = call {type_} @llvm.maxnum.{suffix}({type_} %v, {type_} %w)
        store {type_} %r, ptr %least.lane
        store {type_} %s, ptr %most.lane"""
    more = "\n".join(
        f"declare {type_} @llvm.{each}.{suffix}({type_}, {type_})" for each in ("minnum", "maxnum")
    )

    def want(t, a, b, least, most):
        least[t.lane] = np.fmin(a[t.lane], b[t.lane])
        most[t.lane] = np.fmax(a[t.lane], b[t.lane])

    dtype = {"half": "f2", "float": "f4"}[type_]
    a, b = (np.random.default_rng(seed).normal(0, 3, 32).astype(dtype) for seed in (1, 2))
    a[3], b[5], a[9], b[9] = np.nan, np.nan, np.nan, np.nan
    zeros = {"least": np.zeros(32, dtype), "most": np.zeros(32, dtype)}
    check(body, want, more, a=a, b=b, **zeros)


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        *[("add", np.add), ("mul", np.multiply), ("and", np.bitwise_and), ("or", np.bitwise_or)],
        *[("xor", np.bitwise_xor), ("umin", np.minimum), ("umax", np.maximum)],
    ],
)
def test_reductions_of_a_lane_vector(check, operation, function):
    name = f"llvm.vector.reduce.{operation}.v4i32"
    body = f"""
        %p = getelementptr <4 x i32>, ptr %a, i64 %i
        %v = load <4 x i32>, ptr %p
        %r = call i32 @{name}(<4 x i32> %v)
        store i32 %r, ptr %out.lane"""

    def want(t, a, out):
        rows = a.reshape(32, 4)[t.lane]
        out[t.lane] = function.reduce(rows, axis=1, dtype="u4")

    a = np.random.default_rng(4).integers(0, 2**32, 128, "u4")
    more = f"declare i32 @{name}(<4 x i32>)"
    check(body, want, more, a=a, out=np.zeros(32, "u4"))


@pytest.mark.parametrize(
    ("operation", "function"),
    [("smin", np.minimum), ("smax", np.maximum), ("fmin", np.fmin), ("fmax", np.fmax)],
)
def test_signed_and_float_reductions(check, operation, function):
    type_, suffix, dtype = (
        ("i32", "v4i32", "i4") if operation[0] == "s" else ("float", "v4f32", "f4")
    )
    name = f"llvm.vector.reduce.{operation}.{suffix}"
    body = f"""
        %p = getelementptr <4 x {type_}>, ptr %a, i64 %i
        %v = load <4 x {type_}>, ptr %p
        %r = call {type_} @{name}(<4 x {type_}> %v)
        store {type_} %r, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = function.reduce(a.reshape(32, 4)[t.lane], axis=1)

    a = np.random.default_rng(4).integers(-1000, 1000, 128).astype(dtype)
    more = f"declare {type_} @{name}(<4 x {type_}>)"
    check(body, want, more, a=a, out=np.zeros(32, dtype))


@pytest.mark.parametrize("operation", ["fadd", "fmul"])
def test_reductions_with_a_start(check, operation):
    """In the order of the elements, as without `reassoc` they must be."""
    name = f"llvm.vector.reduce.{operation}.v4f32"
    body = f"""
        %p = getelementptr <4 x float>, ptr %a, i64 %i
        %v = load <4 x float>, ptr %p
        %s = load float, ptr %b
        %r = call float @{name}(float %s, <4 x float> %v)
        store float %r, ptr %out.lane"""

    def want(t, a, b, out):
        for lane in t.lane:
            total = b[0]
            for each in a[4 * lane :][:4]:
                total = total + each if operation == "fadd" else total * each
            out[lane] = total

    a = np.random.default_rng(5).normal(0, 1, 128).astype("f4")
    more = f"declare float @{name}(float, <4 x float>)"
    check(body, want, more, a=a, b=np.array([0.3], "f4"), out=np.zeros(32, "f4"))


def test_conditions_reduced(check):
    body = """
        %p = getelementptr <4 x i32>, ptr %a, i64 %i
        %v = load <4 x i32>, ptr %p
        %c = icmp ult <4 x i32> %v, splat (i32 12)
        %all = call i1 @llvm.vector.reduce.and.v4i1(<4 x i1> %c)
        %any = call i1 @llvm.vector.reduce.or.v4i1(<4 x i1> %c)
        %x1 = zext i1 %all to i32
        %y1 = zext i1 %any to i32
        %z1 = shl i32 %y1, 1
        %r = or i32 %x1, %z1
        store i32 %r, ptr %out.lane"""
    more = """
        declare i1 @llvm.vector.reduce.and.v4i1(<4 x i1>)
        declare i1 @llvm.vector.reduce.or.v4i1(<4 x i1>)"""

    def want(t, a, out):
        small = a.reshape(32, 4)[t.lane] < 12
        out[t.lane] = small.all(1) + 2 * small.any(1)

    a = np.random.default_rng(6).integers(0, 16, 128, "u4")
    check(body, want, more, a=a, out=np.zeros(32, "u4"))
