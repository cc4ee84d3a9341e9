"""Sums of rows of 32-bit whole numbers, which wrap around."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", low=-(2**30), high=2**30, dtype="int32")),
    outputs=dict(y=output("rows", dtype="int32")),
    oracle=lambda x: x.sum(axis=-1, dtype=np.int32),
    flops="rows * cols",
    baseline="mx.sum",
)
def sum_rows_int32(x):
    return mx.sum(x, axis=-1)
