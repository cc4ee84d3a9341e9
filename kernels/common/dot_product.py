"""Inner product of two vectors, a single number."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(n=1000),
        odd1=dict(n=1023),
        odd2=dict(n=4097),
        seed=dict(n=16384),
        large=dict(n=8388608),
        huge=dict(n=75497472),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(a=normal("n"), b=normal("n")),
    outputs=dict(y=output(1)),
    oracle=lambda a, b: np.dot(a, b).reshape(1),
    scale=lambda a, b: np.dot(np.abs(a), np.abs(b)).reshape(1),
    flops="2 * n",
    baseline="mx.sum(a * b)",
    fast=lambda a, b: mx.inner(a, b).reshape(1),
    against=("eager", "compiled", "fast"),
    torch=lambda torch, a, b: torch.dot(a, b).reshape(1),
)
def dot_product(a, b):
    return mx.sum(a * b).reshape(1)
