"""Sums over the middle axis of three."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(batch=2, rows=16, cols=64),
        odd1=dict(batch=3, rows=37, cols=33),
        odd2=dict(batch=1, rows=129, cols=1022),
        seed=dict(batch=4, rows=256, cols=1024),
        large=dict(batch=8, rows=2048, cols=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "rows", "cols")),
    outputs=dict(y=output("batch", "cols")),
    oracle=lambda x: x.sum(axis=1),
    scale=lambda x: np.abs(x).sum(axis=1),
    dtypes=FLOATING,
    flops="batch * rows * cols",
    baseline="mx.sum",
)
def sum_middle_axis(x):
    return mx.sum(x, axis=1)
