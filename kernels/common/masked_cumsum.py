"""Cumulative sum of those elements that a mask keeps, along the last axis."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), mask=integers("rows", "cols", high=2, dtype="bool")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x, mask: np.cumsum(np.where(mask, x, 0), axis=-1),
    scale=lambda x, mask: np.cumsum(np.where(mask, np.abs(x), 0), axis=-1),
    flops="2 * rows * cols",
    baseline="mx.cumsum(mx.where(mask, x, 0))",
    torch=lambda torch, x, mask: torch.cumsum(torch.where(mask, x, 0), dim=-1),
)
def masked_cumsum(x, mask):
    return mx.cumsum(mx.where(mask, x, 0), axis=-1)
