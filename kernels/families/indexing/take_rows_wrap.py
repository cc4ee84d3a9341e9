"""Rows of a table by signed indices, which are wrapped around at its ends."""

import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, TABLES, table_indices


@task(
    sizes=TABLES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), index=table_indices("count", rows="rows")),
    outputs=dict(y=output("count", "cols")),
    oracle=lambda x, index: np.take(x, index, axis=0, mode="wrap"),
    dtypes=FLOATING,
    flops="0",
    bytes="count * (2 * cols * itemsize + 4)",
    baseline="x[index % len(x)]",
)
def take_rows_wrap(x, index):
    return x[index % len(x)]
