"""Rows with zeros before and after them."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=2),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols + 2 * border")),
    constants=dict(border=3),
    oracle=lambda x, border: np.pad(x, ((0, 0), (border, border))),
    dtypes=FLOATING,
    flops="0",
    baseline="mx.pad",
)
def pad_columns(x, border):
    return mx.pad(x, ((0, 0), (border, border)))
