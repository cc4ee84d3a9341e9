"""Experts by score and bias, weights by score alone: routing that is balanced without a loss."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import output, task, uniform


def chosen(scores, bias, k):
    """The largest sums, of equal ones the lower number; their scores, which add up to 2.5."""
    order = np.argsort(-(scores + bias), axis=-1, kind="stable")[:, :k]
    weights = np.take_along_axis(scores, order, axis=-1)
    return 2.5 * weights / weights.sum(axis=-1, keepdims=True), order.astype(np.uint32)


def steps(*dims):
    """Multiples of 1/64 in [-1/2, 0): their sums with scores below 1 are exact."""

    def draw(random, shape, _):
        return random.integers(-32, 0, size=shape).astype(np.float32) / 64

    return replace(uniform(*dims), draw=draw, distribution="multiples of 1/64 below zero")


@task(
    sizes=dict(
        small=dict(tokens=16, experts=32),
        odd1=dict(tokens=37, experts=9),
        odd2=dict(tokens=5, experts=61),
        seed=dict(tokens=2048, experts=64),
        # Beyond 65 535 rows MLX does not sort on an NVIDIA GPU.
        large=dict(tokens=32768, experts=256),
    ),
    gpu_headlines=("large",),
    inputs=dict(scores=uniform("tokens", "experts"), bias=steps("experts")),
    outputs=dict(weights=output("tokens", "k"), expert=output("tokens", "k", dtype="uint32")),
    constants=dict(k=8),
    oracle=chosen,
    dtypes=("float32", "float16", "bfloat16"),
    flops="tokens * experts * k",
    baseline="mx.argsort, take_along_axis, normalised",
)
def moe_router_biased(scores, bias, k):
    wide = scores.astype(mx.float32)
    order = mx.argsort(-(wide + bias.astype(mx.float32)), axis=-1)[:, :k].astype(mx.uint32)
    weights = mx.take_along_axis(wide, order, axis=-1)
    return (2.5 * weights / weights.sum(axis=-1, keepdims=True)).astype(scores.dtype), order
