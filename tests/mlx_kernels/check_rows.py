"""Reductions, scans, sorts and softmax against mlx on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from mlx_kernels import rows as r
from mlx_kernels.bench import Bench, Outcome, check, compare, ints, longs, random, zeros
from mlx_kernels.family import FLOATS, Instance, of

# Half precision accumulates in half precision, in a different order.
ULP = {"float": 32, "half": 16, "bfloat16_t": 16}


def _wide(x: np.ndarray) -> mx.array:
    return mx.array(x.astype(np.float32))


@check(r.REDUCE)
def reduce_all(bench: Bench) -> Iterator[Outcome]:
    x = random(3001)
    instance, out = of("all_reduce", "float", "float", "Sum<float>"), zeros(1)
    arguments = [x, out, np.uint64(3001), np.uint64(3001)]
    bench.run(r.REDUCE, instance, arguments, grid=768, threads=768)
    yield compare(instance, out, x.sum(dtype=np.float64, keepdims=True), "float", 64)
    x = random(5000, "half")
    instance, out = of("all_reduce", "half", "half", "Max<half>"), zeros(5, "half")
    arguments = [x, out, np.uint64(5000), np.uint64(1000)]
    bench.run(r.REDUCE, instance, arguments, grid=(256, 5), threads=256)
    yield compare(instance, out, x.reshape(5, 1000).max(axis=1))


@check(r.REDUCE)
def reduce_rows(bench: Bench) -> Iterator[Outcome]:
    for kind in ("float", "bfloat16_t"):
        x, out = random((10, 515), kind), zeros(10, kind)
        instance = of("row_reduce_simple", kind, kind, f"Sum<{kind}>")
        arguments = [x, out, np.uint64(515), np.int64(10)]
        bench.run(r.REDUCE, instance, arguments, grid=(160, 3, 1), threads=(160, 1, 1))
        yield compare(instance, out, np.array(mx.sum(_wide(x), axis=1)), kind, ULP[kind])
    x, out = random((6, 4, 300)), zeros(4)
    rows = [np.int64(300), np.int64(6), ints(4), longs(300), np.int32(1)]
    rest = [ints(6), longs(1200), np.int32(1)]
    instance = of("row_reduce_small", "float", "float", "Max<float>", "int", 1)
    bench.run(r.REDUCE, instance, [x, out, *rows, *rest], grid=(4, 1, 1), threads=(4, 1, 1))
    yield compare(instance, out, np.array(mx.max(mx.array(x), axis=(0, 2))))
    x, out = random((6, 4, 300), "half"), zeros(4, "half")
    instance = of("row_reduce_looped", "half", "half", "Sum<half>", "int", 1)
    bench.run(r.REDUCE, instance, [x, out, *rows, *rest], grid=(96, 4, 1), threads=(96, 1, 1))
    yield compare(instance, out, np.array(mx.sum(_wide(x), axis=(0, 2))), "half", ULP["half"])


@check(r.REDUCE)
def reduce_columns(bench: Bench) -> Iterator[Outcome]:
    x, out = random((3, 200, 77)), zeros((3, 77))
    size = [np.uint64(200), np.int64(77), ints(3), longs(200 * 77), np.int32(1)]
    rest = [ints(200), longs(77), np.int32(1), np.uint64(1), np.int64(0)]
    instance = of("col_reduce_looped", "float", "float", "Sum<float>", "int", 1, 32, 32)
    bench.run(r.REDUCE, instance, [x, out, *size, *rest], groups=(3, 3, 1), threads=256)
    yield compare(instance, out, np.array(mx.sum(mx.array(x), axis=1)), "float", 32)
    x, out = x[:, :20].copy(), zeros((3, 77))
    size[0], rest[0] = np.uint64(20), ints(20)
    size[3] = longs(20 * 77)
    instance = of("col_reduce_small", "float", "float", "Sum<float>", "int", 1)
    columns = -(-77 // 4)
    bench.run(
        r.REDUCE,
        instance,
        [x, out, *size, *rest[:4]],
        grid=(columns, 3, 1),
        threads=(columns, 1, 1),
    )
    yield compare(instance, out, np.array(mx.sum(mx.array(x), axis=1)), "float", 32)


def _scan(kind: str, op: str, reads: int, inclusive: bool, reverse: bool) -> Instance:
    return of("contiguous_scan", kind, kind, f"{op}<{kind}>", reads, inclusive, reverse)


@check(r.SCAN)
def scan(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        x, out = random((4, 700), kind), zeros((4, 700), kind)
        instance = _scan(kind, "CumSum", 4, True, False)
        bench.run(r.SCAN, instance, [x, out, np.uint64(700)], grid=(192, 4, 1), threads=192)
        want = np.array(mx.cumsum(_wide(x), axis=1))
        yield compare(instance, out, want, kind, 64 if kind == "float" else 32)
    x, out = random((4, 5000), "int32_t"), zeros((4, 5000), "int32_t")
    instance = _scan("int32_t", "CumMax", 4, True, True)
    bench.run(r.SCAN, instance, [x, out, np.uint64(5000)], grid=(1024, 4, 1), threads=1024)
    yield compare(instance, out, np.array(mx.cummax(mx.array(x), axis=1, reverse=True)))
    x, out = random((4, 700)), zeros((4, 700))
    instance = _scan("float", "CumLogaddexp", 4, True, False)
    bench.run(r.SCAN, instance, [x, out, np.uint64(700)], grid=(192, 4, 1), threads=192)
    yield compare(instance, out, np.logaddexp.accumulate(x.astype(np.float64), 1), "float", 32)
    x, out = random((2, 90), "uint64_t"), zeros((2, 90), "uint64_t")
    instance = _scan("uint64_t", "CumProd", 2, False, False)
    bench.run(r.SCAN, instance, [x, out, np.uint64(90)], grid=(64, 2, 1), threads=64)
    ones = np.ones((2, 1), np.uint64)
    yield compare(instance, out, np.hstack([ones, np.cumprod(x, axis=1)[:, :-1]]))
    x, out = random((2, 100, 50)), zeros((2, 100, 50))
    instance = of("strided_scan", "float", "float", "CumSum<float>", 4, True, False)
    arguments = [x, out, np.uint64(100), np.uint64(50), np.uint64(2)]
    bench.run(r.SCAN, instance, arguments, grid=(256, 4, 1), threads=256)
    yield compare(instance, out, np.array(mx.cumsum(mx.array(x), axis=1)), "float", 32)


@check(r.SOFTMAX)
def softmax(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        for form, columns, threads in (("single_row", 1000, 256), ("looped", 5003, 1024)):
            x, out = random((3, columns), kind), zeros((3, columns), kind)
            instance = of(f"softmax_{form}", kind)
            arguments = [x, out, np.int32(columns)]
            bench.run(r.SOFTMAX, instance, arguments, groups=3, threads=threads)
            want = np.array(mx.softmax(_wide(x), axis=1))
            yield compare(instance, out, want, kind, 32)
    x, out = random((3, 1000), "half"), zeros((3, 1000), "half")
    instance = of("softmax_single_row", "half", "float")
    bench.run(r.SOFTMAX, instance, [x, out, np.int32(1000)], groups=3, threads=256)
    yield compare(instance, out, np.array(mx.softmax(_wide(x), axis=1)), "half", 1)


@check(r.LOGSUMEXP)
def logsumexp(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        for form, columns, threads in (("", 1000, 256), ("_looped", 5003, 1024)):
            x, out = random((3, columns), kind), zeros(3, kind)
            instance = of(f"logsumexp{form}", kind)
            arguments = [x, out, np.int32(columns)]
            bench.run(r.LOGSUMEXP, instance, arguments, groups=3, threads=threads)
            yield compare(instance, out, np.array(mx.logsumexp(_wide(x), axis=1)), kind, 4)


@check(r.CROSS_ENTROPY)
def cross_entropy(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        x, targets, out = random((5, 777), kind), ints(0, 3, -1, 776, 100), zeros(5)
        instance = of("cross_entropy", kind)
        bench.run(
            r.CROSS_ENTROPY, instance, [x, targets, out, np.int32(777)], groups=5, threads=256
        )
        wide = x.astype(np.float64)
        want = np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(5), targets]
        yield compare(instance, out, want, "float", 16)


@check(r.SORT)
def sort(bench: Bench) -> Iterator[Outcome]:
    for kind, block, size in (("float", 32, 128), ("bfloat16_t", 128, 500), ("int64_t", 32, 101)):
        x, out = random((5, size), kind), zeros((5, size), kind)
        instance = of("block_sort", kind, kind, False, block, 4)
        steps = [np.int32(value) for value in (size, 1, 1, size, size)]
        bench.run(r.SORT, instance, [x, out, *steps], groups=(1, 5), threads=block)
        yield compare(instance, out, np.sort(x, axis=1))
    x, out = random((5, 250), "half"), zeros((5, 250), "uint32_t")
    instance = of("block_sort", "half", "uint32_t", True, 64, 4)
    steps = [np.int32(value) for value in (250, 1, 1, 250, 250)]
    bench.run(r.SORT, instance, [x, out, *steps], groups=(1, 5), threads=64)
    yield compare(instance, np.take_along_axis(x, out.astype(np.int64), 1), np.sort(x, axis=1))
    yield from _searches(bench)
    yield from _multi_block(bench)


def _searches(bench: Bench) -> Iterator[Outcome]:
    for kind, right in (("float", False), ("int32_t", True)):
        x, v, out = np.sort(random(300, kind)), random(64, kind, 1), zeros(64, "uint32_t")
        instance = of("searchsorted", kind, right)
        arguments = [x, v, out, np.uint32(300), np.int64(1)]
        bench.run(r.SORT, instance, arguments, grid=64, threads=32)
        yield compare(instance, out, np.searchsorted(x, v, "right" if right else "left"))


def _multi_block(bench: Bench) -> Iterator[Outcome]:
    size, tile = 5000, 2048
    blocks = -(-size // tile)
    x = random((2, size))
    values, indices = [zeros((2, size)) for _ in "ab"], [zeros((2, size), "uint32_t") for _ in "ab"]
    kinds = ("float", "uint32_t", True, 512, 4)
    arguments = [x, values[0], indices[0], np.int32(size), np.int32(1)]
    arguments += [np.int32(1), ints(2), longs(size)]
    bench.run(r.SORT, of("mb_block_sort", *kinds), arguments, groups=(blocks, 2), threads=512)
    tiles = 2
    while tiles // 2 < blocks:
        parts = zeros((2, blocks + 1), "uint32_t")
        arguments = [parts, values[0], indices[0], *map(np.int32, (size, tiles, blocks))]
        bench.run(
            r.SORT, of("mb_block_partition", *kinds), arguments, groups=(1, 2), threads=blocks + 1
        )
        arguments = [parts, values[0], indices[0], values[1], indices[1]]
        arguments += map(np.int32, (size, tiles, blocks))
        bench.run(r.SORT, of("mb_block_merge", *kinds), arguments, groups=(blocks, 2), threads=512)
        values.reverse()
        indices.reverse()
        tiles *= 2
    yield compare(of("mb_block_merge", *kinds), values[0], np.sort(x, axis=1))
    order = indices[0].astype(np.int64)
    yield compare(of("mb_block_sort", *kinds), np.take_along_axis(x, order, 1), np.sort(x, axis=1))
