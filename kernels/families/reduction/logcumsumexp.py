"""Logarithm of the sum of exponentials so far, along the last axis."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols").also(with_special(-math.inf))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.logaddexp.accumulate(x, axis=-1),
    scale=lambda x: 1 + np.abs(np.logaddexp.accumulate(x, axis=-1)),
    dtypes=FLOATING,
    flops="8 * rows * cols",
    baseline="mx.logcumsumexp",
)
def logcumsumexp(x):
    return mx.logcumsumexp(x, axis=-1)
