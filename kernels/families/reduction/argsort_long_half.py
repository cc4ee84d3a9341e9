"""Where half-type elements of long rows in ascending order come from; equal ones keep theirs."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, output, shifted, task, tied, with_special
from metalbench.task.families import LONG_ROWS


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        x=tied("rows", "cols").also(shifted(-0.5), coarse(), with_special(math.inf, -math.inf))
    ),
    outputs=dict(y=output("rows", "cols", dtype="uint32")),
    oracle=lambda x: np.argsort(x, axis=-1, kind="stable"),
    dtypes=("float16", "bfloat16"),
    flops="10 * rows * cols",
    baseline="mx.argsort",
)
def argsort_long_half(x):
    return mx.argsort(x, axis=-1)
