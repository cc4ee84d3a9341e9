"""Elementwise kernels and indexing against mlx on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from mlx_kernels import elementwise as e
from mlx_kernels.bench import (
    DTYPES,
    Bench,
    Outcome,
    check,
    compare,
    ints,
    longs,
    random,
    zeros,
)
from mlx_kernels.family import Instance, of

SIZE = 1003


def _mx(x: np.ndarray) -> mx.array:
    return mx.array(np.asarray(x, np.float32) if DTYPES["bfloat16_t"] == x.dtype else x)


@check(e.ARANGE)
def arange(bench: Bench) -> Iterator[Outcome]:
    for kind in ("float", "half", "uint8_t", "int64_t"):
        instance, out = of("arange", kind), zeros(100, kind)
        start, step = DTYPES[kind].type(3), DTYPES[kind].type(2)
        bench.run(e.ARANGE, instance, [start, step, out], grid=100, threads=64)
        yield compare(instance, out, 3 + 2 * np.arange(100))


def _unary(bench: Bench, instance: Instance, x: np.ndarray, out: np.ndarray, n: int = 1) -> None:
    per_thread = max(1, 8 // x.dtype.itemsize) if len(instance.arguments) == 3 else n
    bench.run(
        e.UNARY,
        instance,
        [x, out, np.uint32(x.size)],
        grid=-(-x.size // per_thread),
        threads=128,
    )


UNARY = {
    "ArcSinh": mx.arcsinh,
    "Cosh": mx.cosh,
    "Erf": mx.erf,
    "Exp": mx.exp,
    "Expm1": mx.expm1,
    "Log1p": mx.log1p,
    "Round": mx.round,
    "Sigmoid": mx.sigmoid,
    "Sign": mx.sign,
    "Tanh": mx.tanh,
}


@check(e.UNARY)
def unary(bench: Bench) -> Iterator[Outcome]:
    x = random(SIZE)
    for op, function in UNARY.items():
        given = np.abs(x) if op == "Log1p" else x
        ulp = 128 if op == "Expm1" else 16  # the header reduces by an inexact log(2)
        instance, out = of("unary_v", "float", "float", op), zeros(SIZE)
        _unary(bench, instance, given, out)
        yield compare(instance, out, np.array(function(mx.array(given))), "float", ulp)
    instance, out = of("unary_v", "float", "float", "ErfInv"), zeros(SIZE)
    given = (np.tanh(x) * 0.99).astype(np.float32)
    _unary(bench, instance, given, out)
    yield compare(instance, out, np.array(mx.erfinv(mx.array(given))), "float", 64)
    yield from _unary_types(bench)


def _unary_types(bench: Bench) -> Iterator[Outcome]:
    half, brain = random(SIZE, "half"), np.abs(random(SIZE, "bfloat16_t"))
    for x, op, function in ((half, "Sin", np.sin), (brain, "Rsqrt", lambda v: 1 / np.sqrt(v))):
        kind = "half" if op == "Sin" else "bfloat16_t"
        instance, out = of("unary_v", kind, kind, op), zeros(SIZE, kind)
        _unary(bench, instance, x, out)
        yield compare(instance, out, function(x.astype(np.float64)), kind, 1)
    z, out = random(SIZE, "complex64_t"), zeros(SIZE, "complex64_t")
    for op, function in (("Exp", np.exp), ("Sin", np.sin)):
        instance = of("unary_v", "complex64_t", "complex64_t", op, 1)
        _unary(bench, instance, z, out)
        yield compare(instance, out, function(z.astype(np.complex128)), "float", 32)
    instance, n = of("unary_v", "int64_t", "int64_t", "Abs", 1), -random(SIZE, "int64_t")
    out = zeros(SIZE, "int64_t")
    _unary(bench, instance, n, out)
    yield compare(instance, out, -n)
    instance, out = of("unary_v", "float", "uint8_t", "ToFP8"), zeros(SIZE, "uint8_t")
    x = random(SIZE)
    _unary(bench, instance, x, out)
    yield compare(instance, out, np.array(mx.to_fp8(mx.array(x))))
    instance, out = of("unary_g", "float", "float", "Negative", 1, "int"), zeros((5, 7, 3))
    given = random((3, 7, 5))
    arguments = [given, out, ints(5, 7, 3), longs(1, 5, 35), np.int32(3)]
    bench.run(e.UNARY, instance, arguments, grid=(3, 7, 5), threads=(3, 7, 1))
    yield compare(instance, out, -given.transpose(2, 1, 0))


def _numbers(kind: str) -> tuple[np.ndarray, np.ndarray]:
    a, b = random(SIZE, kind, 1), random(SIZE, kind, 2)
    return a, b


@check(e.BINARY)
def binary(bench: Bench) -> Iterator[Outcome]:
    cases = [("float", "Power"), ("float", "LogAddExp"), ("float", "ArcTan2")]
    cases += [(kind, "Remainder") for kind in ("float", "half", "int32_t", "uint8_t")]
    functions = {
        "Power": mx.power,
        "LogAddExp": mx.logaddexp,
        "ArcTan2": mx.arctan2,
        "Remainder": mx.remainder,
    }
    for kind, op in cases:
        a, b = _numbers(kind)
        a = np.abs(a) if op == "Power" else a
        instance, out = of("binary_vv", kind, kind, op), zeros(SIZE, kind)
        _binary(bench, instance, a, b, out)
        want = np.array(functions[op](_mx(a), _mx(b)))
        yield compare(instance, out, want, kind if kind in ("float", "half") else "", 16)
    yield from _binary_forms(bench)


def _binary(bench: Bench, instance: Instance, a, b, out, n: int = 0) -> None:
    per_thread = n or max(1, 8 // a.dtype.itemsize)
    grid = -(-SIZE // per_thread)
    bench.run(e.BINARY, instance, [a, b, out, np.uint32(SIZE)], grid=grid, threads=100)


def _binary_forms(bench: Bench) -> Iterator[Outcome]:
    a, b = _numbers("half")
    instance, out = of("binary_sv", "half", "half", "Subtract"), zeros(SIZE, "half")
    _binary(bench, instance, a, b, out)
    yield compare(instance, out, a[0] - b)
    a, b = _numbers("bfloat16_t")
    instance, out = (
        of("binary_vs", "bfloat16_t", "bfloat16_t", "Multiply"),
        zeros(SIZE, "bfloat16_t"),
    )
    _binary(bench, instance, a, b, out)
    yield compare(instance, out, a * b[0])
    a, b = _numbers("complex64_t")
    instance = of("binary_vv", "complex64_t", "complex64_t", "Power", 1)
    out = zeros(SIZE, "complex64_t")
    _binary(bench, instance, a, b, out, 1)
    yield compare(instance, out, a.astype(np.complex128) ** b, "float", 200)
    x, y = random((9, 5, 33), "int32_t", 3), random((33, 5, 9), "int32_t", 4)
    instance, out = of("binary_g_nd3", "int32_t", "bool", "Less"), zeros((9, 5, 33), "bool")
    arguments = [x, y, out, longs(165, 33, 1), longs(1, 9, 45)]
    bench.run(e.BINARY, instance, arguments, grid=(33, 5, 9), threads=(32, 1, 1))
    yield compare(instance, out, x < y.transpose(2, 1, 0))
    u, v = random((6, 10)), random((1, 10))
    instance, out = of("binary_g", "float", "float", "Multiply", 2, "int"), zeros((6, 10))
    arguments = [u, v, out, ints(6, 10), longs(10, 1), longs(0, 1), np.int32(2)]
    bench.run(e.BINARY, instance, arguments, grid=(5, 6, 1), threads=(5, 6, 1))
    yield compare(instance, out, u * v)


@check(e.BINARY_TWO)
def binary_two(bench: Bench) -> Iterator[Outcome]:
    for kind in ("float", "half", "int32_t", "uint16_t"):
        a, b = _numbers(kind)
        instance, one, two = (
            of("binary_vv", kind, kind, "DivMod"),
            zeros(SIZE, kind),
            zeros(SIZE, kind),
        )
        grid = -(-SIZE // max(1, 8 // a.dtype.itemsize))
        arguments = [a, b, one, two, np.uint32(SIZE)]
        bench.run(e.BINARY_TWO, instance, arguments, grid=grid, threads=64)

        wide = (a.astype(np.float64), b.astype(np.float64))
        quotient, remainder = np.floor_divide(*wide), np.mod(*wide)
        exact = "" if kind.endswith("_t") else kind
        yield compare(instance, one, quotient.astype(a.dtype), exact, 1)
        yield compare(instance, two, remainder.astype(a.dtype), exact, 1)


@check(e.TERNARY)
def ternary(bench: Bench) -> Iterator[Outcome]:
    for kind in ("float", "half", "bfloat16_t", "int32_t"):
        condition, b, c = random(SIZE, "bool"), random(SIZE, kind, 1), random(SIZE, kind, 2)
        instance, out = of("ternary_v", kind, "Select", False, False), zeros(SIZE, kind)
        grid = -(-SIZE // max(1, 8 // b.dtype.itemsize))
        arguments = [condition, b, c, out, np.uint32(SIZE)]
        bench.run(e.TERNARY, instance, arguments, grid=grid, threads=64)
        yield compare(instance, out, np.where(condition, b, c))


@check(e.COPY)
def copy(bench: Bench) -> Iterator[Outcome]:
    for source, target in (("float", "half"), ("bfloat16_t", "float"), ("half", "bfloat16_t")):
        x, out = random(SIZE, source), zeros(SIZE, target)
        instance = of("copy_v", source, target)
        grid = -(-SIZE // max(1, 8 // out.dtype.itemsize))
        bench.run(e.COPY, instance, [x, out, np.uint32(SIZE)], grid=grid, threads=64)
        yield compare(instance, out, x.astype(np.float32).astype(out.dtype))
    x, out = random((4, 6, 8)), zeros((8, 6, 4))
    instance = of("copy_gg_nd3", "float", "float", "int")
    arguments = [x, out, longs(48, 8, 1), longs(1, 4, 24)]
    bench.run(e.COPY, instance, arguments, grid=(8, 6, 4), threads=(8, 6, 1))
    yield compare(instance, out, x.transpose(2, 1, 0))
