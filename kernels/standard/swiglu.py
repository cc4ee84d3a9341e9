"""Gated dense layer: silu(x W_gate) * (x W_up)."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task


def gated(x, w_gate, w_up):
    """silu(x W_gate) (x W_up)."""
    gate = x @ w_gate
    return gate * scipy.special.expit(gate) * (x @ w_up)


def magnitude(x, w_gate, w_up):
    """Each product's sum of absolute terms times the other product."""
    gate, up = np.abs(x @ w_gate), np.abs(x @ w_up)
    return np.abs(x) @ np.abs(w_gate) * (1 + up) + gate * (np.abs(x) @ np.abs(w_up))


@task(
    sizes=dict(
        small=dict(rows=32, dims=32, hidden=64),
        odd1=dict(rows=37, dims=65, hidden=23),
        odd2=dict(rows=5, dims=129, hidden=67),
        seed=dict(rows=256, dims=256, hidden=256),
        large=dict(rows=1024, dims=1024, hidden=1536),
        huge=dict(rows=4096, dims=1024, hidden=1536),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("rows", "dims"),
        w_gate=normal("dims", "hidden").only(even(), coarse(), sparse()),
        w_up=normal("dims", "hidden").only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("rows", "hidden")),
    oracle=gated,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * dims * hidden + 5 * rows * hidden",
    baseline="matmul, mx.sigmoid",
    torch=lambda torch, x, w_gate, w_up: torch.nn.functional.silu(x @ w_gate) * (x @ w_up),
)
def swiglu(x, w_gate, w_up):
    gate = x @ w_gate
    return gate * mx.sigmoid(gate) * (x @ w_up)
