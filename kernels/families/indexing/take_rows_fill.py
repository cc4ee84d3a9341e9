"""Rows of a table by signed indices: negative ones count from the end, rows beyond are zeros."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, TABLES, table_indices


def filled(x, index):
    """Row by row."""
    y = np.zeros((len(index), x.shape[1]), x.dtype)
    is_there = (index >= -len(x)) & (index < len(x))
    y[is_there] = x[index[is_there]]
    return y


@task(
    sizes=TABLES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), index=table_indices("count", rows="rows")),
    outputs=dict(y=output("count", "cols")),
    oracle=filled,
    dtypes=FLOATING,
    flops="0",
    bytes="count * (2 * cols * itemsize + 4)",
    baseline="mx.where(is_there, x[index], 0)",
)
def take_rows_fill(x, index):
    rows = len(x)
    is_there = (index >= -rows) & (index < rows)
    found = x[mx.where(is_there, index, 0)]
    return mx.where(is_there[:, None], found, mx.zeros_like(found))
