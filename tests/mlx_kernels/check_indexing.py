"""Gathers and scatters against NumPy, whose indexing is mlx's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mlx_kernels import elementwise as e
from mlx_kernels.bench import Bench, Outcome, check, compare, ints, longs, random, zeros
from mlx_kernels.family import of


@check(e.INDEXING)
def gathers(bench: Bench) -> Iterator[Outcome]:
    x = random((20, 6, 11))
    first, second = ints(3, 19, -1, 0), ints(5, 0, -2, 3)
    instance, out = of("gather_rows"), zeros((4, 11))
    arguments = [x, out, ints(20, 6, 11), longs(66, 11, 1), np.uint64(3), ints(1, 1, 11)]
    arguments += [ints(0, 1), ints(4, 4), longs(1, 1), np.array([True, True]), np.int32(1)]
    arguments += [first, second]
    bench.run(e.INDEXING, instance, arguments, grid=(4, 1, 11), threads=(4, 1, 11))
    yield compare(instance, out, x[first, second])
    x, rows, out = random((9, 30)), np.array([8, 0, 3, 3], np.uint32), zeros((4, 30))
    instance = of("gather_front", "float", "uint32_t", "int", 1)
    arguments = [x, rows, out, np.int64(30), np.int32(9)]
    bench.run(e.INDEXING, instance, arguments, grid=(30, 4), threads=(30, 4))
    yield compare(instance, out, x[rows])
    x, out = random((5, 8, 7)), zeros((5, 3, 7))
    at = np.random.default_rng(0).integers(-8, 8, (5, 3, 7)).astype(np.int32)
    instance = of("gather_axis", "float", "int32_t", "int", True, True)
    arguments = [x, at, out, ints(5, 7), longs(56, 1), longs(21, 1), np.uint64(2), np.int32(1)]
    arguments += [np.int32(8), np.uint64(7), np.uint64(7)]
    bench.run(e.INDEXING, instance, arguments, grid=(7, 3, 5), threads=(7, 3, 1))
    yield compare(instance, out, np.take_along_axis(x, at, 1))


SCATTERS = {"Sum": np.add, "Max": np.maximum, "Prod": np.multiply, "Min": np.minimum}


@check(e.INDEXING)
def scatters(bench: Bench) -> Iterator[Outcome]:
    rows = np.random.default_rng(1).integers(-12, 12, 50).astype(np.int32)
    for kind, op in e.SCATTERS:
        dtype = "int32_t" if kind == "int" else kind
        updates, out = random((50, 16), dtype, 1), random((12, 16), dtype, 2)
        want = out.astype(out.dtype if out.dtype.kind in "iu" else np.float64)
        SCATTERS[op].at(want, rows, updates.astype(want.dtype))
        instance = of(f"scatter_{kind}_{op}")
        arguments = [updates, out, ints(50, 1, 16), longs(16, 16, 1), np.uint64(3), np.uint64(16)]
        arguments += [ints(12, 16), longs(16, 1), np.uint64(2), ints(0), ints(50), longs(1)]
        arguments += [np.array([True]), np.int32(1), np.uint64(50), rows]
        bench.run(e.INDEXING, instance, arguments, grid=(16, 50), threads=(16, 4))
        inexact = kind if op == "Sum" else ""
        yield compare(instance, out, want, inexact, 16)


@check(e.INDEXING)
def scatters_along_an_axis(bench: Bench) -> Iterator[Outcome]:
    updates, out = random((5, 9, 7)), random((5, 4, 7), seed=3)
    at = np.random.default_rng(0).integers(-4, 4, (5, 9, 7)).astype(np.int32)
    want = out.astype(np.float64)
    outer, _, inner = np.indices(at.shape)
    np.add.at(want, (outer, at, inner), updates)
    instance = of("scatter_axis", "float", "int32_t", "int", "Sum<float>", True, True)
    arguments = [updates, at, out, ints(5, 7), longs(63, 1), longs(63, 1), np.uint64(2)]
    arguments += [np.int32(1), np.int32(4), np.uint64(7), np.uint64(7)]
    bench.run(e.INDEXING, instance, arguments, grid=(7, 9, 5), threads=(7, 9, 1))
    yield compare(instance, out, want, "float", 16)
    mask, source, out = random(200, "bool"), random(120), random(200, seed=5)
    want = out.copy()
    want[mask] = source[: mask.sum()]
    offsets = (np.cumsum(mask) - mask).astype(np.uint32)
    instance = of("masked_assign_impl", "float", True)
    arguments = [mask, offsets, source, out, ints(120), longs(1), np.int32(1), np.int64(120)]
    bench.run(e.INDEXING, instance, [*arguments, np.int64(200)], grid=200, threads=64)
    yield compare(instance, out, want)
