"""Every row of uint32 in ascending order, of any length."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import LONG_ROWS


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", high=4294967296, dtype="uint32")),
    outputs=dict(y=output("rows", "cols", dtype="uint32")),
    oracle=lambda x: np.sort(x, axis=-1),
    flops="10 * rows * cols",
    baseline="mx.sort",
)
def sort_long_uint32(x):
    return mx.sort(x, axis=-1)
