"""Euclidean norm of every row."""

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
    oracle=lambda x: np.sqrt(np.einsum("rc,rc->r", x, x)),
    flops="2 * rows * cols",
    baseline="mx.sqrt(mx.sum(x * x))",
    fast=lambda x: mx.linalg.norm(x, axis=-1),
    against=("eager", "compiled", "fast"),
    torch=lambda torch, x: torch.linalg.vector_norm(x, dim=-1),
)
def l2_norm(x):
    return mx.sqrt(mx.sum(x * x, axis=-1))
