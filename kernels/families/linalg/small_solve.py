"""Solutions of many systems of up to 32 equations: A x = b."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import full_rank


@task(
    sizes=dict(
        small=dict(batch=10, n=8),
        odd1=dict(batch=7, n=13),
        odd2=dict(batch=3, n=1),
        odd3=dict(batch=5, n=32),
        seed=dict(batch=2048, n=24),
        large=dict(batch=65536, n=24),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=full_rank("batch", "n", "n"), b=normal("batch", "n")),
    outputs=dict(y=output("batch", "n")),
    oracle=lambda a, b: np.linalg.solve(a, b[..., None])[..., 0],
    # The least singular value is 1 or more.
    scale=lambda a, b: np.broadcast_to(np.linalg.norm(b, axis=-1, keepdims=True), b.shape),
    flops="2 * batch * n * n * n / 3",
    baseline="mx.linalg.solve, on the processor",
    torch=lambda torch, a, b: torch.linalg.solve(a, b),
)
def small_solve(a, b):
    return mx.linalg.solve(a, b[..., None], stream=mx.cpu)[..., 0]
