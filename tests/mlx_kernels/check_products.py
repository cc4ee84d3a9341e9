"""Matrix-vector products, steel matrix products and the dot product against NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mlx_kernels import matrices as m
from mlx_kernels.bench import Argument, Bench, Outcome, check, compare, ints, longs, random, zeros
from mlx_kernels.family import FLOATS, of

ZERO, ONE = np.int32(0), np.int32(1)
# Sums of products in float32, rounded once to the type.
ULP = {"float": 32, "half": 1, "bfloat16_t": 1}


def packed(**fields: int | float | tuple[int, ...]) -> np.ndarray:
    """The bytes of a parameter struct: int fields, `f_` for float and `l_` for int64."""
    kinds = {"l_": np.int64, "f_": np.float32}
    columns = []
    for name, value in fields.items():
        size = np.shape(value)
        columns.append((name, kinds.get(name[:2], np.int32), size))
    made = np.zeros(1, np.dtype(columns, align=True))
    for name, value in fields.items():
        made[name] = value
    return made.view(np.uint8)


@check(m.DOT)
def dot(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        a, b, out = random(9001, kind), random(9001, kind, 1), zeros(2)
        instance = of("dot_product", kind, 32, 256, 8)
        bench.run(m.DOT, instance, [a, b, out, np.int32(9001)], groups=2, threads=256)
        want = np.dot(a.astype(np.float64), b.astype(np.float64))
        yield compare(instance, out.sum(keepdims=True), np.array([want]), "float", 64)


def _vector(bias: Argument | None = None) -> list[Argument]:
    """Return the arguments after a gemv's sizes: alpha, beta, and no batch."""
    return [np.float32(1), np.float32(0), ONE, ints(1), longs(0), longs(0), longs(0), ONE]


@check(m.GEMV)
def gemv(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        a, x, out = random((67, 1000), kind), random(1000, kind, 1), zeros(67, kind)
        instance = of("gemv", kind, 1, 8, 1, 32, 4, 4, False, False)
        arguments = [a, x, x, out, np.int32(1000), np.int32(67), np.int32(1000), *_vector()]
        bench.run(m.GEMV, instance, arguments, groups=17, threads=(32, 8, 1))
        want = a.astype(np.float64) @ x.astype(np.float64)
        yield compare(instance, out, want, kind, ULP[kind])
        out = zeros(1000, kind)
        x = random(67, kind, 2)
        instance = of("gemv_t", kind, 1, 4, 8, 4, 4, 4, False, False)
        arguments = [a, x, x, out, np.int32(67), np.int32(1000), np.int32(1000), *_vector()]
        bench.run(m.GEMV, instance, arguments, groups=16, threads=(32, 4, 1))
        want = x.astype(np.float64) @ a.astype(np.float64)
        yield compare(instance, out, want, kind, ULP[kind])
    a, x = random((20, 50), "complex64_t"), random(50, "complex64_t", 5)
    out = zeros(20, "complex64_t")
    instance = of("gemv", "complex64_t", 1, 1, 8, 4, 4, 4, False, False)
    arguments = [a, x, x, out, np.int32(50), np.int32(20), np.int32(50), *_vector()]
    bench.run(m.GEMV, instance, arguments, groups=1, threads=(32, 1, 1))
    yield compare(instance, out, a.astype(np.complex128) @ x, "float", 32)


@check(m.GEMV_MASKED)
def gemv_masked(bench: Bench) -> Iterator[Outcome]:
    a, x, out = random((96, 128)), random(128, seed=1), zeros(96)
    out_mask, mat_mask = random((3, 1), "bool", 3), random((3, 4), "bool", 4)
    vec_mask = random(4, "bool", 5)
    instance = of("gemv_masked", "float", "bool", "bool", 2, 1, 4, 8, 4, 4, False)
    arguments = [a, x, out, np.int32(128), np.int32(96), np.int32(128), ONE, ints(1), longs(0)]
    arguments += [longs(0), out_mask, mat_mask, vec_mask, ints(1, 1, 1, 4, 1, 1), longs(0, 0, 0)]
    bench.run(m.GEMV_MASKED, instance, arguments, groups=3, threads=(32, 1, 2))
    spread = np.repeat(np.repeat(mat_mask, 32, 0), 32, 1)
    want = (a * spread).astype(np.float64) @ (x * np.repeat(vec_mask, 32))
    yield compare(instance, out, want * np.repeat(out_mask[:, 0], 32), "float", 32)


def _gemm(rows: int, columns: int, inner: int, block: tuple[int, int, int], a: int, b: int):
    """GEMMParams of a product whose operands have rows of `a` and `b` elements."""
    return packed(
        m=rows, n=columns, k=inner, lda=a, ldb=b, ldd=columns,
        tiles_n=-(-columns // block[1]), tiles_m=-(-rows // block[0]),
        l_batch_a=0, l_batch_b=0, l_batch_d=0,
        swizzle=0, k_iterations=inner // block[2], batch_ndim=1,
    )  # fmt: skip


@check(m.STEEL_GEMM_FUSED)
def gemm(bench: Bench) -> Iterator[Outcome]:
    cases = (
        ("float", (32, 32, 16, 2, 2), False, False),
        ("half", (64, 32, 32, 2, 2), False, True),
        ("bfloat16_t", (64, 64, 16, 1, 2), True, False),
        ("complex64_t", (32, 32, 16, 2, 2), True, True),
    )
    rows, columns, inner = 70, 75, 45
    constants = {200: False, 201: False, 202: False}
    for kind, block, left, right in cases:
        a, b = random((rows, inner), kind), random((inner, columns), kind, 1)
        given = [np.ascontiguousarray(a.T) if left else a]
        given += [np.ascontiguousarray(b.T) if right else b]
        out = zeros((rows, columns), kind)
        params = _gemm(rows, columns, inner, block, given[0].shape[1], given[1].shape[1])
        instance = of("gemm", kind, *block, left, right, "float")
        groups = (-(-columns // block[1]), -(-rows // block[0]))
        threads = (32, block[4], block[3])
        bench.run(
            m.STEEL_GEMM_FUSED,
            instance,
            [*given, out, params],
            groups=groups,
            threads=threads,
            constants=constants,
        )
        wide = np.complex128 if kind == "complex64_t" else np.float64
        yield compare(instance, out, a.astype(wide) @ b.astype(wide), *_rounding(kind))


def _rounding(kind: str) -> tuple[str, float]:
    return ("float", 64) if kind == "complex64_t" else (kind, ULP[kind])


@check(m.STEEL_GEMM_SPLITK)
def gemm_splitk(bench: Bench) -> Iterator[Outcome]:
    size, inner, parts = 32, 256, 4
    a, b = random((size, inner)), random((inner, size), seed=1)
    split, out = zeros((parts, size, size)), zeros((size, size), "bfloat16_t")
    block = (16, 16, 16, 2, 2)
    params = packed(
        m=size, n=size, k=inner, lda=inner, ldb=size, ldc=size, tiles_n=2, tiles_m=2,
        parts=parts, stride=size * size, part=inner // parts, swizzle=0, k_iterations=4,
    )  # fmt: skip
    instance = of("gemm_splitk", "float", "float", *block, False, False, True, True)
    bench.run(
        m.STEEL_GEMM_SPLITK,
        instance,
        [a, b, split, params],
        groups=(2, 2, parts),
        threads=(32, 2, 2),
    )
    want = a.astype(np.float64) @ b.astype(np.float64)
    yield compare(instance, split.sum(axis=0), want, "float", 32)
    instance = of("gemm_splitk_accum", "float", "bfloat16_t")
    arguments = [split, out, np.int32(parts), np.int32(size * size), np.int32(size)]
    bench.run(m.STEEL_GEMM_SPLITK, instance, arguments, grid=(size, size), threads=(32, 8))
    yield compare(instance, out, want, "bfloat16_t", 1)


@check(m.STEEL_GEMM_MASKED)
def gemm_masked(bench: Bench) -> Iterator[Outcome]:
    rows, columns, inner = 64, 70, 50
    a, b, out = random((rows, inner)), random((inner, columns), seed=1), zeros((rows, columns))
    masks = [random(shape, "bool", 7) for shape in ((2, 3), (2, 2), (2, 3))]
    masks[0][0, 0] = True
    block = (32, 32, 16, 2, 2)
    params = _gemm(rows, columns, inner, block, inner, columns)
    instance = of("block_masked_gemm", "float", "bool", "bool", *block, *[False] * 4)
    arguments = [a, b, out, params, ints(1), longs(*[0] * 5), *masks, ints(1, 3, 1, 2, 1, 3)]
    bench.run(m.STEEL_GEMM_MASKED, instance, arguments, groups=(3, 2), threads=(32, 2, 2))
    spread = [np.repeat(np.repeat(mask, 32, 0), 32, 1) for mask in masks]
    left, right = a * spread[1][:rows, :inner], b * spread[2][:inner, :columns]
    want = left.astype(np.float64) @ right * spread[0][:rows, :columns]
    yield compare(instance, out, want, "float", 32)


@check(m.STEEL_GEMM_GATHER)
def gemm_gather(bench: Bench) -> Iterator[Outcome]:
    rows, columns, inner = 40, 36, 48
    a, b = random((3, rows, inner)), random((4, inner, columns), seed=1)
    left, right = np.array([2, 0], np.uint32), np.array([1, 3], np.uint32)
    out, block = zeros((2, rows, columns)), (32, 32, 16, 2, 2)
    params = packed(
        m=rows, n=columns, k=inner, lda=inner, ldb=columns, ldd=columns, tiles_n=2, tiles_m=2,
        l_batch_a=1, l_batch_b=1, l_batch_d=rows * columns,
        swizzle=0, k_iterations=3, batch_ndim=1,
    )  # fmt: skip
    instance = of("gather_mm", "float", *block, False, False, "float")
    arguments = [a, b, left, right, out, params, ints(2), longs(1), longs(1)]
    arguments += [ONE, ints(3), longs(rows * inner), ONE, ints(4), longs(inner * columns)]
    bench.run(
        m.STEEL_GEMM_GATHER,
        instance,
        arguments,
        groups=(2, 2, 2),
        threads=(32, 2, 2),
        constants={200: False, 201: False, 202: True},
    )
    want = a[left].astype(np.float64) @ b[right]
    yield compare(instance, out, want, "float", 32)


@check(m.STEEL_GEMM_SEGMENTED)
def gemm_segmented(bench: Bench) -> Iterator[Outcome]:
    rows, columns, inner = 32, 64, 100
    a, b = random((rows, inner)), random((inner, columns), seed=1)
    segments = np.array([[0, 33], [33, 64], [64, 100]], np.uint32)
    out, block = zeros((3, rows, columns)), (32, 32, 16, 2, 2)
    params = packed(
        m=rows, n=columns, k=inner, lda=inner, ldb=columns, ldd=columns, tiles_n=2, tiles_m=1,
        l_batch_a=0, l_batch_b=0, l_batch_d=rows * columns,
        swizzle=0, k_iterations=0, batch_ndim=0,
    )  # fmt: skip
    instance = of("segmented_mm", "float", *block, False, False, "float")
    arguments = [a, b, segments, out, params]
    bench.run(m.STEEL_GEMM_SEGMENTED, instance, arguments, groups=(2, 1, 3), threads=(32, 2, 2))
    wide = a.astype(np.float64)
    want = np.stack([wide[:, s:e] @ b[s:e] for s, e in segments])
    yield compare(instance, out, want, "float", 32)
