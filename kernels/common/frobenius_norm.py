"""Square root of the sum of all squares of a matrix."""

import mlx.core as mx
import numpy as np

from metalbench.task import heavy_tailed, output, positive, scaled, sparse, task


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
    # A few make up most of the norm: of many alike, errors of inputs that are rounded to less
    # average out.
    inputs=dict(x=positive("rows", "cols").only(heavy_tailed(), scaled(100), sparse())),
    outputs=dict(norm=output(1)),
    oracle=lambda x: np.sqrt(np.square(x).sum()).reshape(1),
    flops="2 * rows * cols",
    baseline="mx.sqrt(mx.sum(x * x))",
    fast=lambda x: mx.linalg.norm(x).reshape(1),
    against=("eager", "compiled", "fast"),
    torch=lambda torch, x: torch.linalg.vector_norm(x).reshape(1),
)
def frobenius_norm(x):
    return mx.sqrt(mx.sum(x * x)).reshape(1)
