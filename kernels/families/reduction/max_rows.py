"""The largest element of every row, or NaN if there is one."""

import math

import mlx.core as mx

from metalbench.task import normal, output, task, with_special
from metalbench.task.families import FLOATING, ROWS, VOCABULARY


@task(
    sizes=ROWS | VOCABULARY,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols").also(with_special(math.nan, math.inf, -math.inf))),
    outputs=dict(y=output("rows")),
    oracle=lambda x: x.max(axis=-1),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.max",
)
def max_rows(x):
    return mx.max(x, axis=-1)
