"""Cumulative sum down the columns."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=517, cols=35),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.cumsum(x, axis=0),
    scale=lambda x: np.cumsum(np.abs(x), axis=0),
    flops="rows * cols",
    baseline="mx.cumsum",
)
def cumsum_columns(x):
    return mx.cumsum(x, axis=0)
