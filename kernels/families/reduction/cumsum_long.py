"""Cumulative sums along rows of any length."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import LONG_ROWS


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.cumsum(x, axis=-1),
    scale=lambda x: np.cumsum(np.abs(x), axis=-1),
    flops="rows * cols",
    baseline="mx.cumsum",
)
def cumsum_long(x):
    return mx.cumsum(x, axis=-1)
