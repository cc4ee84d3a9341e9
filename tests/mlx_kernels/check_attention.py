"""Attention against mlx on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import mlx.core as mx
import numpy as np
from mlx_kernels import matrices as m
from mlx_kernels.bench import Argument, Bench, Outcome, check, compare, random, zeros
from mlx_kernels.check_products import packed
from mlx_kernels.family import FLOATS, Instance, of

ULP = {"float": 64, "half": 4, "bfloat16_t": 4}


def _want(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: object = None) -> np.ndarray:
    wide = [mx.array(x.astype(np.float32)) for x in (q, k, v)]
    scale = 1 / np.sqrt(q.shape[-1])
    return np.array(mx.fast.scaled_dot_product_attention(*wide, scale=scale, mask=mask))


@check(m.SDPA_VECTOR)
def sdpa_vector(bench: Bench) -> Iterator[Outcome]:
    for kind in FLOATS:
        q = random((1, 8, 3, 64), kind)
        k, v = (random((1, 2, 77, 64), kind, seed) for seed in (1, 2))
        out, instance = zeros(q.shape, kind), of("sdpa_vector", kind, 64, 64)
        sizes = [np.int32(4), np.int32(77), *map(np.uint64, (77 * 64, 64, 77 * 64, 64))]
        arguments = [q, k, v, out, *sizes, np.float32(64**-0.5)]
        bench.run(m.SDPA_VECTOR, instance, arguments, groups=(8, 3), threads=1024)
        yield compare(instance, out, _want(q, k, v), kind, ULP[kind])
    mask = random((1, 1, 3, 77), "bool", 3)
    mask[..., 0] = True
    instance, out = of("sdpa_vector", "float", 64, 64), zeros(q.shape)
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    strides = [np.int32(1), np.int32(77), np.int32(0)]
    bench.run(
        m.SDPA_VECTOR,
        instance,
        [q, k, v, out, *sizes, np.float32(64**-0.5), mask, *strides],
        groups=(8, 3),
        threads=1024,
        constants={20: True, 23: True},
    )
    yield compare(instance, out, _want(q, k, v, mx.array(mask)), "float", 64)


def _params(q: np.ndarray, k: np.ndarray, block: tuple[int, int]) -> np.ndarray:
    """AttnParams of contiguous operands."""
    batch, heads, rows, width = q.shape
    keys = k.shape[2]
    return packed(
        b=batch, h=heads, d=width, ql=rows, kl=keys, gqa=heads // k.shape[1],
        f_scale=width**-0.5, nq=-(-rows // block[0]), nk=-(-keys // block[1]),
        nq_aligned=rows // block[0], nk_aligned=keys // block[1],
        ql_rem=rows % block[0], kl_rem=keys % block[1], ql_off=keys - rows,
        l_q=_strides(q), l_k=_strides(k), l_v=_strides(k), l_o=_strides(q),
    )  # fmt: skip


def _strides(x: np.ndarray) -> tuple[int, ...]:
    return tuple(stride // x.itemsize for stride in x.strides[:3])


def _attend(
    bench: Bench,
    instance: Instance,
    arguments: list[Argument],
    constants: Mapping[int, bool],
) -> None:
    rows, heads = arguments[0].shape[2], arguments[0].shape[1]
    bench.run(
        m.STEEL_ATTENTION,
        instance,
        arguments,
        groups=(-(-rows // 32), heads, 1),
        threads=(32, 4, 1),
        constants=constants,
    )


@check(m.STEEL_ATTENTION)
def steel_attention(bench: Bench) -> Iterator[Outcome]:
    for kind, width, step, mask in (("float", 64, 32, "float"), ("half", 128, 16, "half")):
        q = random((1, 4, 50, width), kind)
        k, v = (random((1, 2, 75, width), kind, seed) for seed in (1, 2))
        out = zeros(q.shape, kind)
        instance = of("attention", kind, 32, step, width, width, 4, 1, mask, "float")
        for causal in (False, True):
            constants = {200: False, 201: False, 301: causal}
            params = _params(q, k, (32, step))
            _attend(bench, instance, [q, k, v, out, params], constants)
            want = _want(q, k, v, "causal" if causal else None)
            yield compare(instance, out, want, kind, ULP[kind])
    q, k, v = (random((1, 2, 64, 64), "bfloat16_t", seed) for seed in range(3))
    mask, out = random((1, 2, 64, 64), "bool", 8), zeros(q.shape, "bfloat16_t")
    mask[..., 0] = True
    instance = of("attention", "bfloat16_t", 32, 32, 64, 64, 4, 1, "bool", "float")
    arguments = [q, k, v, out, _params(q, k, (32, 32)), packed(l_m=_strides(mask)), mask]
    _attend(bench, instance, arguments, {300: True})
    yield compare(instance, out, _want(q, k, v, mx.array(mask)), "bfloat16_t", 4)
