"""Mean squared difference of two matrices."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        prediction=normal("rows", "cols"),
        target=normal("rows", "cols"),
    ),
    outputs=dict(loss=output(1)),
    oracle=lambda prediction, target: np.square(prediction - target).mean().reshape(1),
    flops="3 * rows * cols",
    baseline="mx.mean(mx.square)",
    torch=lambda torch, prediction, target: torch.nn.functional.mse_loss(
        prediction, target
    ).reshape(1),
)
def mse_loss(prediction, target):
    return mx.mean(mx.square(prediction - target)).reshape(1)
