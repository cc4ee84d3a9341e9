"""Hadamard transform of rows of 128, as long as a head: caches are turned by it."""

import mlx.core as mx
import numpy as np
import scipy.linalg

from metalbench.task import coarse, even, heavy_tailed, normal, output, sparse, task


@task(
    sizes=dict(
        small=dict(rows=8),
        odd1=dict(rows=5),
        odd2=dict(rows=37),
        seed=dict(rows=8192),
        large=dict(rows=131072),
    ),
    gpu_headlines=("large",),
    # Of a constant row all but one element cancel.
    inputs=dict(x=normal("rows", "cols").only(heavy_tailed(), even(), coarse(), sparse())),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(cols=128),
    oracle=lambda x, cols: x @ scipy.linalg.hadamard(cols) / np.sqrt(cols),
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * rows * cols",
    baseline="mx.hadamard_transform",
)
def hadamard_128(x, cols):
    return mx.hadamard_transform(x)
