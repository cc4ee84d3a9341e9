"""Cumulative sum along the last axis."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


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
    oracle=lambda x: np.cumsum(x, axis=-1),
    scale=lambda x: np.cumsum(np.abs(x), axis=-1),
    flops="rows * cols",
    baseline="mx.cumsum",
    torch=lambda torch, x: torch.cumsum(x, dim=-1),
)
def cumsum(x):
    return mx.cumsum(x, axis=-1)
