"""Product of every row, of elements near one."""

import math

import mlx.core as mx

from metalbench.task import output, task, uniform
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=uniform("rows", "cols", low=0.98, high=1.02)),
    outputs=dict(y=output("rows")),
    oracle=lambda x: x.prod(axis=-1),
    scale=lambda x: x.prod(axis=-1) * math.sqrt(x.shape[-1]),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.prod",
)
def prod_rows(x):
    return mx.prod(x, axis=-1)
