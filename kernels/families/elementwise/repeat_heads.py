"""Every head a number of times in a row."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(tokens=8, heads=4, dims=32),
        odd1=dict(tokens=37, heads=3, dims=33),
        odd2=dict(tokens=5, heads=7, dims=130),
        seed=dict(tokens=512, heads=16, dims=64),
        large=dict(tokens=4096, heads=32, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads * copies", "tokens", "dims")),
    constants=dict(copies=4),
    oracle=lambda x, copies: np.repeat(x, copies, axis=0),
    dtypes=FLOATING,
    flops="0",
    baseline="mx.repeat",
)
def repeat_heads(x, copies):
    return mx.repeat(x, copies, axis=0)
