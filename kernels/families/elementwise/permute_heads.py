"""Heads moved outside of tokens: (tokens, heads, dims) to (heads, tokens, dims)."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(tokens=8, heads=4, dims=32),
        odd1=dict(tokens=37, heads=3, dims=33),
        odd2=dict(tokens=5, heads=7, dims=130),
        seed=dict(tokens=512, heads=16, dims=64),
        large=dict(tokens=4096, heads=32, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("tokens", "heads", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    oracle=lambda x: np.swapaxes(x, 0, 1),
    dtypes=FLOATING,
    flops="0",
    baseline="mx.contiguous(mx.swapaxes)",
)
def permute_heads(x):
    return mx.contiguous(mx.swapaxes(x, 0, 1))
