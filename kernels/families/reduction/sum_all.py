"""Sum of all elements."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, heavy_tailed, normal, output, sparse, task
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols").only(heavy_tailed(), even(), coarse(), sparse())),
    outputs=dict(y=output(1)),
    oracle=lambda x: x.sum(keepdims=True).reshape(1),
    scale=lambda x: np.abs(x).sum(keepdims=True).reshape(1),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.sum",
)
def sum_all(x):
    return mx.sum(x).reshape(1)
