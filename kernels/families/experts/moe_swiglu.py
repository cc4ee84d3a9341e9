"""Rows sorted by expert through the first half of their expert's network: silu(gate) * up."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.families import expert_indices, multiply_by_expert


def halves(x, expert, gate, up):
    """Of every row what its expert's two matrices make of it."""
    both = np.zeros_like(x, shape=(2, len(x), gate.shape[1]), order="C")
    for e in np.unique(expert):
        rows = expert == e
        both[:, rows] = x[rows] @ gate[e].T, x[rows] @ up[e].T
    return both


def gated(x, expert, gate, up):
    """The logistic function of the first, times both."""
    first, second = halves(x, expert, gate, up)
    return first * scipy.special.expit(first) * second


def magnitude(x, expert, gate, up):
    """An error of one half counts by the other; silu's slope is 1.1 at most."""
    first, second = halves(np.abs(x), expert, np.abs(gate), np.abs(up))
    left, right = halves(x, expert, gate, up)
    return 1.1 * first * np.abs(right) + np.abs(left * scipy.special.expit(left)) * second


@task(
    sizes=dict(
        small=dict(rows=16, experts=4, features=16, inner=32),
        odd1=dict(rows=111, experts=7, features=29, inner=41),
        odd2=dict(rows=75, experts=64, features=67, inner=30),
        seed=dict(rows=256, experts=8, features=256, inner=256),
        large=dict(rows=8192, experts=32, features=768, inner=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "inner").only(even(), coarse(), sparse()),
        expert=expert_indices("rows", high="experts", ordered=True),
        gate=normal("experts", "features", "inner", deviation=0.1).only(even(), coarse(), sparse()),
        up=normal("experts", "features", "inner", deviation=0.1).only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("rows", "features")),
    oracle=gated,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * features * inner + 5 * rows * features",
    baseline="mx.gather_mm twice, silu, times",
)
def moe_swiglu(x, expert, gate, up):
    first = multiply_by_expert(x, gate, expert, ordered=True)
    return first * mx.sigmoid(first) * multiply_by_expert(x, up, expert, ordered=True)
