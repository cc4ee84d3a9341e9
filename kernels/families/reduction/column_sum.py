"""Sums of columns: a gradient of a bias."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=64, cols=32),
        odd1=dict(rows=37, cols=101),
        odd2=dict(rows=1030, cols=5),
        seed=dict(rows=2048, cols=1024),
        large=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("cols")),
    oracle=lambda x: x.sum(axis=0),
    scale=lambda x: np.abs(x).sum(axis=0),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.sum(x, 0)",
)
def column_sum(x):
    return mx.sum(x, axis=0)
