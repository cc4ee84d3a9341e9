"""Solutions of lower triangular systems with many right sides: L X = B."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import lower_triangular, substitute_forward

RIGHT = ("batch", "n", "sides")


@task(
    sizes=dict(
        small=dict(batch=3, n=24, sides=8),
        odd1=dict(batch=2, n=67, sides=37),
        odd2=dict(batch=5, n=1, sides=33),
        odd3=dict(batch=1, n=301, sides=3),
        seed=dict(batch=16, n=64, sides=64),
        large=dict(batch=256, n=128, sides=512),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=lower_triangular("batch", "n", "n"), b=normal(*RIGHT)),
    outputs=dict(y=output(*RIGHT)),
    oracle=substitute_forward,
    # A triangle without positive elements below its diagonal has an inverse without negative ones.
    scale=lambda a, b: substitute_forward(
        2 * np.abs(a) * np.eye(a.shape[-1], dtype=a.dtype) - np.abs(a), np.abs(b)
    ),
    flops="batch * n * n * sides",
    baseline="mx.linalg.solve_triangular, on the processor",
    torch=lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=False),
)
def triangular_solve(a, b):
    return mx.linalg.solve_triangular(a, b, upper=False, stream=mx.cpu)
