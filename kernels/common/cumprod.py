"""Cumulative product along the last axis, of numbers near 1."""

import mlx.core as mx
import numpy as np

from metalbench.task import even, normal, output, task, with_special

# Products of 4096 of them stay close to 1. Few values would make the same roundings over and over,
# which add up to a bias.
near_one = normal("rows", "cols", mean=1.0, deviation=0.005).only(even(), with_special(-1.0))


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=41, cols=2049),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=near_one),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.cumprod(x, axis=-1),
    flops="rows * cols",
    baseline="mx.cumprod",
    torch=lambda torch, x: torch.cumprod(x, dim=-1),
)
def cumprod(x):
    return mx.cumprod(x, axis=-1)
