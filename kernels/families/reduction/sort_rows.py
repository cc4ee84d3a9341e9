"""Every row in ascending order."""

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
        x=tied("rows", "cols").also(
            shifted(-0.5), coarse(), with_special(math.inf, -math.inf, math.nan)
        )
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.sort(x, axis=-1),
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.sort",
)
def sort_rows(x):
    return mx.sort(x, axis=-1)
