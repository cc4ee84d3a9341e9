"""Where int32 of long rows in ascending order come from; equal ones keep their order."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import LONG_ROWS


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", low=-1000, high=1000, dtype="int32")),
    outputs=dict(y=output("rows", "cols", dtype="uint32")),
    oracle=lambda x: np.argsort(x, axis=-1, kind="stable"),
    flops="10 * rows * cols",
    baseline="mx.argsort",
)
def argsort_long_int32(x):
    return mx.argsort(x, axis=-1)
