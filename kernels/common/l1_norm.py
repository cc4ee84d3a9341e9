"""Sum of the absolute values of every row."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows")),
    oracle=lambda x: np.abs(x).sum(axis=-1),
    flops="2 * rows * cols",
    baseline="mx.sum(mx.abs(x))",
    torch=lambda torch, x: torch.linalg.vector_norm(x, 1, dim=-1),
)
def l1_norm(x):
    return mx.sum(mx.abs(x), axis=-1)
