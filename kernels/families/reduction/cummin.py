"""The smallest element so far, along the last axis."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols").also(with_special(math.inf, -math.inf))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.minimum.accumulate(x, axis=-1),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.cummin",
)
def cummin(x):
    return mx.cummin(x, axis=-1)
