"""QR factors of matrices with at least as many rows as columns, by Householder's reflections."""

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.matrices import full_rank


@task(
    sizes=dict(
        small=dict(batch=3, m=24, n=16),
        odd1=dict(batch=2, m=67, n=37),
        odd2=dict(batch=5, m=1, n=1),
        odd3=dict(batch=1, m=301, n=13),
        seed=dict(batch=64, m=64, n=64),
        large=dict(batch=4096, m=64, n=64),
    ),
    gpu_headlines=("large",),
    draw=lambda random: dict(
        batch=int(random.integers(1, 9)),
        m=int(random.integers(32, 65)),
        n=int(random.integers(1, 33)),
    ),
    inputs=dict(a=full_rank("batch", "m", "n")),
    outputs=dict(q=output("batch", "m", "n"), r=output("batch", "n", "n")),
    oracle=lambda a: tuple(np.linalg.qr(a)),
    flops="4 * batch * n * n * (m - n / 3)",
    baseline="mx.linalg.qr, on the processor",
)
def qr(a):
    return mx.linalg.qr(a, stream=mx.cpu)
