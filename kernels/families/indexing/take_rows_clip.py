"""Rows of a table by signed indices, of which those beyond the ends give the nearest row."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, TABLES, table_indices


@task(
    sizes=TABLES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), index=table_indices("count", rows="rows")),
    outputs=dict(y=output("count", "cols")),
    oracle=lambda x, index: np.take(x, index, axis=0, mode="clip"),
    dtypes=FLOATING,
    flops="0",
    bytes="count * (2 * cols * itemsize + 4)",
    baseline="x[mx.clip(index)]",
)
def take_rows_clip(x, index):
    return x[mx.clip(index, 0, len(x) - 1)]
