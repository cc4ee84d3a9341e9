"""The largest whole number of every row."""

import mlx.core as mx

from metalbench.task import integers, output, task
from metalbench.task.families import ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", low=-(2**30), high=2**30, dtype="int32")),
    outputs=dict(y=output("rows", dtype="int32")),
    oracle=lambda x: x.max(axis=-1),
    flops="rows * cols",
    baseline="mx.max",
)
def max_rows_int32(x):
    return mx.max(x, axis=-1)
