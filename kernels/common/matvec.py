"""Matrix times vector."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=64, cols=128),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(a=normal("rows", "cols"), x=normal("cols")),
    outputs=dict(y=output("rows")),
    oracle=lambda a, x: a @ x,
    scale=lambda a, x: np.abs(a) @ np.abs(x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="mx.matmul",
    torch=lambda torch, a, x: torch.matmul(a, x),
)
def matvec(a, x):
    return mx.matmul(a, x)
