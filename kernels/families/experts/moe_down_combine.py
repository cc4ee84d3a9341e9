"""The last half of a mixture when decoding: sums of experts' matrices times silu(gate) up."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.families import expert_indices, multiply_by_expert

GENTLE = (even(), coarse(), sparse())


def mixed(gate, up, expert, weights, w):
    """Of every token the weighted sum of what its experts make of silu(gate) * up."""
    hidden = gate * scipy.special.expit(gate) * up
    return np.einsum("tk,tkdi,tki->td", weights, w[expert], hidden, optimize=True)


@task(
    sizes=dict(
        small=dict(tokens=2, experts=4, dims=16, inner=32),
        odd1=dict(tokens=3, experts=3, dims=29, inner=41),
        odd2=dict(tokens=1, experts=11, dims=5, inner=1030),
        seed=dict(tokens=4, experts=16, dims=512, inner=256),
        large=dict(tokens=16, experts=64, dims=2048, inner=768),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        gate=normal("tokens", "k", "inner").only(*GENTLE),
        up=normal("tokens", "k", "inner").only(*GENTLE),
        expert=expert_indices("tokens", "k", high="experts"),
        weights=uniform("tokens", "k", low=0.1, high=0.5),
        w=normal("experts", "dims", "inner"),
    ),
    outputs=dict(y=output("tokens", "dims")),
    constants=dict(k=4),
    oracle=lambda gate, up, expert, weights, w, k: mixed(gate, up, expert, weights, w),
    scale=lambda gate, up, expert, weights, w, k: mixed(
        np.abs(gate), np.abs(up), expert, weights, np.abs(w)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * tokens * k * dims * inner",
    bytes="itemsize * (min(tokens * k, experts) * dims * inner + tokens * (dims + 2 * k * inner))",
    baseline="silu, times, mx.gather_mm, weighted sum",
)
def moe_down_combine(gate, up, expert, weights, w, k):
    y = multiply_by_expert(gate * mx.sigmoid(gate) * up, w, expert)
    return (y * weights[..., None]).sum(axis=1)
