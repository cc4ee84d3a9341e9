"""Lower Cholesky factors of symmetric positive definite matrices: A = L L^T."""

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.matrices import positive_definite

MATRIX = ("batch", "n", "n")


@task(
    sizes=dict(
        small=dict(batch=3, n=24),
        odd1=dict(batch=2, n=67),
        odd2=dict(batch=5, n=1),
        odd3=dict(batch=1, n=301),
        seed=dict(batch=64, n=64),
        large=dict(batch=1024, n=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=positive_definite(*MATRIX)),
    outputs=dict(y=output(*MATRIX)),
    oracle=lambda a: np.linalg.cholesky(a),
    flops="batch * n * n * n / 3",
    baseline="mx.linalg.cholesky, on the processor",
    torch=lambda torch, a: torch.linalg.cholesky(a),
)
def cholesky(a):
    return mx.linalg.cholesky(a, stream=mx.cpu)
