"""Every row of a half type in ascending order, of any length."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, output, shifted, task, tied, with_special
from metalbench.task.families import LONG_ROWS


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        x=tied("rows", "cols").also(
            shifted(-0.5), coarse(), with_special(math.inf, -math.inf, math.nan)
        )
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.sort(x, axis=-1),
    dtypes=("float16", "bfloat16"),
    flops="10 * rows * cols",
    baseline="mx.sort",
)
def sort_long_half(x):
    return mx.sort(x, axis=-1)
