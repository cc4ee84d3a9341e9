"""Product of every element of one vector with every element of another."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=2048),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(a=normal("rows"), b=normal("cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda a, b: np.outer(a, b),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="a[:, None] * b",
    fast=lambda a, b: mx.outer(a, b),
    against=("eager", "compiled", "fast"),
    torch=lambda torch, a, b: torch.outer(a, b),
)
def outer_product(a, b):
    return a[:, None] * b
