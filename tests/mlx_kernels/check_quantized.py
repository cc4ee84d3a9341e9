"""Quantization and products with quantized matrices against mlx on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from mlx_kernels import matrices as m
from mlx_kernels.bench import Argument, Bench, Outcome, check, compare, ints, longs, random, zeros
from mlx_kernels.family import FLOATS, of

# After a matrix's sizes: no batch of vectors, no batch of matrices.
_NO_BATCH = [np.int32(1), ints(1), longs(0), np.int32(1), ints(1), longs(0), longs(0)]
ULP = {"float": 64, "half": 2, "bfloat16_t": 2}


def _affine(rows: int, columns: int, group: int, bits: int) -> tuple[np.ndarray, ...]:
    """Weights, scales and biases of a random matrix, and the matrix that they stand for."""
    made = mx.quantize(mx.array(random((rows, columns), seed=9)), group, bits)
    wide = mx.dequantize(*made, group, bits)
    return (*(np.array(part) for part in made), np.array(wide))


@check(m.QUANTIZED)
def quantize(bench: Bench) -> Iterator[Outcome]:
    for bits in (2, 3, 4, 5, 6, 8):
        x = random((8, 256))
        weights, scales, biases, _ = _affine_of(x, 32, bits)
        out = [zeros(weights.view(np.uint8).shape, "uint8_t"), zeros((8, 8)), zeros((8, 8))]
        instance = of("affine_quantize", "float", 32, bits)
        bench.run(m.QUANTIZED, instance, [x, *out], grid=(256, 8), threads=(256, 1))
        yield compare(instance, out[1], scales, "float", 2)
        yield compare(instance, out[2], biases, "float", 2)
        yield compare(instance, out[0], weights.view(np.uint8))


def _affine_of(x: np.ndarray, group: int, bits: int) -> tuple[np.ndarray, ...]:
    made = mx.quantize(mx.array(x), group, bits)
    return (*(np.array(part) for part in made), np.array(mx.dequantize(*made, group, bits)))


@check(m.QUANTIZED)
def dequantize(bench: Bench) -> Iterator[Outcome]:
    packs = {3: 8, 4: 2, 6: 4}
    for bits, pack in packs.items():
        weights, scales, biases, _ = _affine_of(random((8, 256)), 64, bits)
        halves = [part.astype(np.float16) for part in (scales, biases)]
        out = zeros((8, 256), "half")
        instance = of("affine_dequantize", "half", 64, bits)
        arguments = [weights.view(np.uint8), *halves, out]
        bench.run(m.QUANTIZED, instance, arguments, grid=(256 // pack, 8), threads=(32, 1))
        wide = [mx.array(half.astype(np.float32)) for half in halves]
        want = mx.dequantize(mx.array(weights), *wide, 64, bits)
        yield compare(instance, out, np.array(want), "half", 2)


def _product(
    bench: Bench,
    template: str,
    kind: str,
    matrix: tuple[np.ndarray, ...],
    x: np.ndarray,
    *rest: object,
    sizes: tuple[int, ...],
    shape: tuple[int, ...],
    groups: tuple[int, ...],
    threads: tuple[int, ...],
) -> tuple[np.ndarray, object]:
    instance, out = of(f"affine_{template}", kind, *rest), zeros(shape, kind)
    typed = [part.astype(x.dtype) for part in matrix[1:3]]
    arguments: list[Argument] = [matrix[0], *typed, x, out, *map(np.int32, sizes)]
    arguments += [*_NO_BATCH, longs(0)]
    bench.run(m.QUANTIZED, instance, arguments, groups=groups, threads=threads)
    return out, instance


@check(m.QUANTIZED)
def vectors(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        matrix, x = _affine(64, 512, 64, 4), random((3, 512), kind)
        out, instance = _product(
            bench, "qmv_fast", kind, matrix, x, 64, 4, False,
            sizes=(512, 64), shape=(3, 64), groups=(3, 8), threads=(32, 2),
        )  # fmt: skip
        yield compare(instance, out, _times(x, matrix, 64, 4, True), kind, ULP[kind])
    matrix, x = _affine(37, 96, 32, 3), random((2, 96))
    out, instance = _product(
        bench, "qmv", "float", matrix, x, 32, 3, False,
        sizes=(96, 37), shape=(2, 37), groups=(2, 5), threads=(32, 2),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 32, 3, True), "float", 64)
    matrix, x = _affine(96, 128, 64, 4), random((2, 96))
    out, instance = _product(
        bench, "qvm", "float", matrix, x, 64, 4, False,
        sizes=(96, 128), shape=(2, 128), groups=(2, 2), threads=(32, 2),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 64, 4, False), "float", 64)
    matrix, x = _affine(64, 64, 64, 4), random((3, 64))
    out, instance = _product(
        bench, "qmv_quad", "float", matrix, x, 64, 4, 64, False,
        sizes=(64, 64), shape=(3, 64), groups=(3, 1), threads=(32, 1),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 64, 4, True), "float", 64)


def _times(
    x: np.ndarray, matrix: tuple[np.ndarray, ...], group: int, bits: int, transpose: bool
) -> np.ndarray:
    """The product with the matrix as the kernel sees it: scales and biases in x's type."""
    parts = [mx.array(part.astype(x.dtype).astype(np.float32)) for part in matrix[1:3]]
    wide = np.array(mx.dequantize(mx.array(matrix[0]), *parts, group, bits)).astype(np.float64)
    return x.astype(np.float64) @ (wide.T if transpose else wide)


@check(m.QUANTIZED)
def matrices(bench: Bench) -> Iterator[Outcome]:
    matrix, x = _affine(64, 128, 64, 4), random((40, 128))
    out, instance = _product(
        bench, "qmm_t", "float", matrix, x, 64, 4, True, False,
        sizes=(128, 64, 40), shape=(40, 64), groups=(2, 2), threads=(32, 2, 2),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 64, 4, True), "float", 64)
    matrix, x = _affine(50, 96, 32, 6), random((40, 96), "bfloat16_t")
    out, instance = _product(
        bench, "qmm_t", "bfloat16_t", matrix, x, 32, 6, False, False,
        sizes=(96, 50, 40), shape=(40, 50), groups=(2, 2), threads=(32, 2, 2),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 32, 6, True), "bfloat16_t", 8)
    matrix, x = _affine(96, 64, 32, 2), random((40, 96))
    out, instance = _product(
        bench, "qmm_n", "float", matrix, x, 32, 2, False,
        sizes=(96, 64, 40), shape=(40, 64), groups=(2, 2), threads=(32, 2, 2),
    )  # fmt: skip
    yield compare(instance, out, _times(x, matrix, 32, 2, False), "float", 64)


def _float_quantized(x: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, scales and the matrix that they stand for."""
    made = mx.quantize(mx.array(x), mode=mode)
    return (
        *(np.array(part) for part in made),
        np.array(mx.dequantize(*made, mode=mode, dtype=mx.float32)),
    )


@check(m.FP_QUANTIZED)
def float_formats(bench: Bench) -> Iterator[Outcome]:
    x, nothing = random((8, 256)), zeros(1)
    weights, scales, wide = _float_quantized(x, "mxfp4")
    out = [zeros(weights.view(np.uint8).shape, "uint8_t"), zeros(scales.shape, "uint8_t")]
    instance = of("fp_quantize", "float", 32, 4, False)
    bench.run(m.FP_QUANTIZED, instance, [x, *out, nothing], grid=(256, 8), threads=(256, 1))
    yield compare(instance, out[1], scales)
    # By value, as mlx on the CPU drops the sign of what rounds to zero.
    made = mx.array(out[0].view(np.uint32)), mx.array(scales)
    yield compare(instance, np.array(mx.dequantize(*made, mode="mxfp4", dtype=mx.float32)), wide)
    got, instance = zeros((8, 256)), of("fp_dequantize", "float", 32, 4, False)
    arguments = [weights.view(np.uint8), scales, nothing, got]
    bench.run(m.FP_QUANTIZED, instance, arguments, grid=(128, 8), threads=(32, 1))
    yield compare(instance, got, wide)
    weights, scales, wide = _float_quantized(x, "mxfp8")
    got, instance = zeros((8, 256), "half"), of("fp_dequantize", "half", 32, 8, False)
    arguments = [weights.view(np.uint8), scales, nothing, got]
    bench.run(m.FP_QUANTIZED, instance, arguments, grid=(256, 8), threads=(32, 1))
    yield compare(instance, got, wide, "half", 1)


@check(m.FP_QUANTIZED)
def float_products(bench: Bench) -> Iterator[Outcome]:
    cases = (
        ("qmv_fast", "float", "mxfp4", (32, 4, False), (64, 512), (512, 64), (3, 8), (32, 2)),
        ("qmv", "float", "mxfp8", (32, 8, False), (37, 96), (96, 37), (3, 5), (32, 2)),
        ("qvm", "float", "mxfp4", (32, 4, False), (96, 128), (96, 128), (3, 2), (32, 2)),
        (
            "qmm_t",
            "float",
            "mxfp4",
            (32, 4, True, False),
            (64, 96),
            (96, 64, 3),
            (2, 1),
            (32, 2, 2),
        ),
        ("qmm_n", "half", "nvfp4", (16, 4, False), (96, 64), (96, 64, 3), (2, 1), (32, 2, 2)),
    )
    for template, kind, mode, rest, shape, sizes, groups, threads in cases:
        weights, scales, wide = _float_quantized(random(shape, seed=4), mode)
        x, out = random((3, sizes[0]), kind), zeros((3, sizes[1]), kind)
        instance = of(f"fp_{template}", kind, *rest)
        scale = [] if template == "qmm_n" else [zeros(1)]
        arguments = [weights, scales, *scale, x, out, *map(np.int32, sizes), *_NO_BATCH]
        bench.run(m.FP_QUANTIZED, instance, arguments, groups=groups, threads=threads)
        transposed = template not in ("qvm", "qmm_n")
        want = x.astype(np.float64) @ (wide.T if transposed else wide)
        yield compare(instance, out, want, kind, ULP[kind])
