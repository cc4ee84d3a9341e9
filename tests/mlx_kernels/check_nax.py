"""Kernels for M5's matrix units: products, attention and quantized products against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from mlx_kernels import nax
from mlx_kernels.bench import Bench, Outcome, check, compare, ints, longs, random, zeros
from mlx_kernels.check_attention import _params, _want
from mlx_kernels.check_products import _gemm
from mlx_kernels.check_quantized import _NO_BATCH, _affine, _float_quantized, _times
from mlx_kernels.family import FLOATS, of

ULP = {"float": 64, "half": 2, "bfloat16_t": 2}


def _operands(
    kind: str, size: tuple[int, int, int], left: bool, right: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the operands as they are stored, and their product."""
    rows, columns, inner = size
    a, b = random((rows, inner), kind), random((inner, columns), kind, 1)
    want = a.astype(np.float64) @ b.astype(np.float64)
    stored = np.ascontiguousarray(a.T) if left else a, np.ascontiguousarray(b.T) if right else b
    return *stored, want


@check(nax.GEMM)
def nax_gemm(bench: Bench) -> Iterator[Outcome]:
    block = (64, 64, 64, 2, 2)
    for kind, left, right in zip(FLOATS, (False, True, False), (True, False, False), strict=True):
        a, b, want = _operands(kind, (64, 128, 128), left, right)
        out, instance = zeros(want.shape, kind), of("gemm", kind, *block, left, right, "float")
        params = _gemm(64, 128, 128, block[:3], a.shape[1], b.shape[1])
        arguments = [a, b, out, params]
        bench.run(nax.GEMM, instance, arguments, groups=(2, 1), threads=(32, 2, 2))
        yield compare(instance, out, want, kind, ULP[kind])
    a, b, want = _operands("half", (70, 75, 150), True, True)
    out, instance = zeros(want.shape, "half"), of("gemm", "half", *block, True, True, "float")
    params = _gemm(70, 75, 150, block[:3], a.shape[1], b.shape[1])
    free = {200: False, 201: False, 202: False}
    arguments = [a, b, out, params]
    bench.run(nax.GEMM, instance, arguments, groups=(2, 2), threads=(32, 2, 2), constants=free)
    yield compare(instance, out, want, "half", ULP["half"])


@check(nax.THIN)
def nax_thin(bench: Bench) -> Iterator[Outcome]:
    for kind, right, free in (("half", True, False), ("float", False, True)):
        rows, columns, inner = (16, 128, 256) if not free else (13, 70, 200)
        a, b, want = _operands(kind, (rows, columns, inner), False, right)
        instance = of("gemm_thin_nax", kind, 1, 2, 1, 4, 2, right)
        # Each of two groups of SIMD-groups takes every second chunk of 64.
        params = _gemm(rows, columns, inner, (16, 128, 128), a.shape[1], b.shape[1])
        params.view(np.int32)[15] = -(-inner // 128)
        out = zeros(want.shape, kind)
        constants = {200: not free, 201: not free, 202: not free}
        arguments = [a, b, out, params]
        bench.run(nax.THIN, instance, arguments, groups=1, threads=(32, 8, 1), constants=constants)
        yield compare(instance, out, want, kind, ULP[kind])


@check(nax.ATTENTION)
def nax_attention(bench: Bench) -> Iterator[Outcome]:
    for kind, width, mask, causal in (("half", 64, "half", False), ("float", 64, "bool", True)):
        q = random((1, 2, 64, width), kind)
        k, v = (random((1, 1, 96, width), kind, seed) for seed in (1, 2))
        out = zeros(q.shape, kind)
        instance = of("attention_nax", kind, 64, 32, width, width, 4, 1, mask, "float")
        arguments = [q, k, v, out, _params(q, k, (64, 32))]
        groups = {"groups": (1, 2, 1), "threads": (32, 4, 1)}
        bench.run(nax.ATTENTION, instance, arguments, **groups, constants={301: causal})
        want = _want(q, k, v, "causal" if causal else None)
        yield compare(instance, out, want, kind, ULP[kind] * 2)


@check(nax.QUANTIZED)
def nax_quantized(bench: Bench) -> Iterator[Outcome]:
    matrix, x = _affine(64, 128, 64, 4), random((64, 128), "half")
    instance, out = of("affine_qmm_t_nax", "half", 64, 4, True, False), zeros((64, 64), "half")
    typed = [part.astype(x.dtype) for part in matrix[1:3]]
    arguments = [matrix[0], *typed, x, out, *map(np.int32, (128, 64, 64)), *_NO_BATCH, longs(0)]
    bench.run(nax.QUANTIZED, instance, arguments, groups=(1, 1), threads=(32, 2, 2))
    yield compare(instance, out, _times(x, matrix, 64, 4, True), "half", ULP["half"])
    matrix, x = _affine(128, 64, 64, 4), random((64, 128))
    instance, out = of("affine_qmm_n_nax", "float", 64, 4, False), zeros((64, 64))
    arguments = [*matrix[:3], x, out, *map(np.int32, (128, 64, 64)), *_NO_BATCH, longs(0)]
    bench.run(nax.QUANTIZED, instance, arguments, groups=(1, 1), threads=(32, 2, 2))
    yield compare(instance, out, _times(x, matrix, 64, 4, False), "float", ULP["float"])


@check(nax.FP_QUANTIZED)
def nax_fp_quantized(bench: Bench) -> Iterator[Outcome]:
    weights, scales, wide = _float_quantized(random((64, 128), seed=9), "mxfp4")
    x, out = random((64, 128), "half"), zeros((64, 64), "half")
    instance = of("fp_qmm_t_nax", "half", 32, 4, True, False)
    no_batch = [np.int32(1), ints(1), longs(0), np.int32(1), ints(1), longs(0), longs(0)]
    sizes = map(np.int32, (128, 64, 64))
    arguments = [weights, scales, zeros(1), x, out, *sizes, *no_batch]
    bench.run(nax.FP_QUANTIZED, instance, arguments, groups=(1, 1), threads=(32, 2, 2))
    want = x.astype(np.float64) @ np.asarray(mx.array(wide)).astype(np.float64).T
    yield compare(instance, out, want, "half", ULP["half"] * 4)
