"""How many truth values of every row are set."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", high=2, dtype="bool")),
    outputs=dict(y=output("rows", dtype="uint32")),
    oracle=lambda x: np.count_nonzero(x, axis=-1),
    flops="rows * cols",
    baseline="mx.sum",
)
def count_rows(x):
    return mx.sum(x, axis=-1).astype(mx.uint32)
