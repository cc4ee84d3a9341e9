"""Sum of absolute differences of every pair of rows."""

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
    inputs=dict(x=normal("rows", "cols"), y=normal("rows", "cols")),
    outputs=dict(distance=output("rows")),
    oracle=lambda x, y: np.abs(x - y).sum(axis=-1),
    flops="3 * rows * cols",
    baseline="mx.sum(mx.abs(x - y))",
    torch=lambda torch, x, y: torch.sum(torch.abs(x - y), dim=-1),
)
def manhattan_similarity(x, y):
    return mx.sum(mx.abs(x - y), axis=-1)
