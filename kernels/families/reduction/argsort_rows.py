"""Where the elements of every row in ascending order come from; equal ones keep their order."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, output, shifted, task, tied, with_special
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(rows=4, cols=64),
        odd1=dict(rows=7, cols=1023),
        odd2=dict(rows=3, cols=2049),
        seed=dict(rows=64, cols=1024),
        large=dict(rows=4096, cols=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=tied("rows", "cols").also(shifted(-0.5), coarse(), with_special(math.inf, -math.inf))
    ),
    outputs=dict(y=output("rows", "cols", dtype="uint32")),
    oracle=lambda x: np.argsort(x, axis=-1, kind="stable"),
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.argsort",
)
def argsort_rows(x):
    return mx.argsort(x, axis=-1)
