"""Cumulative sum from the right end, along the last axis."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def from_right(x):
    """The sums of each element and all to its right."""
    return np.cumsum(x[:, ::-1], axis=-1)[:, ::-1]


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=from_right,
    scale=lambda x: from_right(np.abs(x)),
    flops="rows * cols",
    baseline="mx.cumsum(reverse=True)",
    torch=lambda torch, x: torch.cumsum(x.flip(-1), dim=-1).flip(-1),
)
def cumsum_reverse(x):
    return mx.cumsum(x, axis=-1, reverse=True)
