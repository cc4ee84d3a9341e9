"""1 / sqrt(x) of positive numbers, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, positive, scaled, task, with_special


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=16, cols=16384),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=positive("rows", "cols").only(scaled(100), scaled(0.001), with_special(math.inf))
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: 1 / np.sqrt(x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.rsqrt",
    torch=lambda torch, x: torch.rsqrt(x),
)
def rsqrt(x):
    return mx.rsqrt(x)
