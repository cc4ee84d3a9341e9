"""Sum of every row."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS, VOCABULARY


@task(
    sizes=ROWS | VOCABULARY,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows")),
    oracle=lambda x: x.sum(axis=-1),
    scale=lambda x: np.abs(x).sum(axis=-1),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.sum",
)
def sum_rows(x):
    return mx.sum(x, axis=-1)
