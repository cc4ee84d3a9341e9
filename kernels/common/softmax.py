"""Softmax over the last axis."""

import math

import mlx.core as mx

from metalbench.task import normal, oracles, output, task, with_special


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols").also(with_special(-math.inf))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: oracles.softmax(x, axis=-1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * rows * cols",
    baseline="mx.softmax",
    torch=lambda torch, x: torch.softmax(x, dim=-1),
)
def softmax(x):
    return mx.softmax(x, axis=-1)
