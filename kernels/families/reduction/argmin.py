"""Index of the smallest element of every row; of equal ones, the first."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, output, shifted, task, tied, with_special
from metalbench.task.families import FLOATING, ROWS, VOCABULARY


@task(
    sizes=ROWS | VOCABULARY,
    gpu_headlines=("large",),
    inputs=dict(
        x=tied("rows", "cols").also(shifted(100), coarse(), with_special(math.inf, -math.inf))
    ),
    outputs=dict(y=output("rows", dtype="uint32")),
    oracle=lambda x: np.argmin(x, axis=-1),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.argmin",
)
def argmin(x):
    return mx.argmin(x, axis=-1)
