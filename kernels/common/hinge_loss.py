"""max(0, 1 - prediction target) with targets -1 and 1, elementwise."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task

signs = replace(
    normal("rows", "cols"),
    distribution="-1 or 1",
    draw=lambda random, shape, _: np.where(random.random(shape) < 0.5, np.float32(-1), 1),
    variations=(),
)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=16, cols=16384),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(prediction=normal("rows", "cols"), target=signs),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda prediction, target: np.maximum(0, 1 - prediction * target),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * rows * cols",
    baseline="mx.maximum(0, 1 - p * t)",
    torch=lambda torch, prediction, target: torch.clamp(1 - prediction * target, min=0),
)
def hinge_loss(prediction, target):
    return mx.maximum(0, 1 - prediction * target)
