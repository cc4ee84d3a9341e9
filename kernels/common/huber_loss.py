"""Squared where the difference is small, else linear, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def huber_of(prediction, target):
    """Half the square up to 1, then a line of slope 1."""
    size = np.abs(prediction - target)
    return np.where(size <= 1, 0.5 * size * size, size - 0.5)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(prediction=normal("rows", "cols"), target=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=huber_of,
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * rows * cols",
    baseline="mx.where(|d| <= 1, d * d / 2, |d| - 1/2)",
    torch=lambda torch, prediction, target: torch.nn.functional.huber_loss(
        prediction, target, reduction="none"
    ),
)
def huber_loss(prediction, target):
    size = mx.abs(prediction - target)
    return mx.where(size <= 1, 0.5 * size * size, size - 0.5)
