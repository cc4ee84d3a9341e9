"""Product of two square matrices."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(n=64),
        odd1=dict(n=37),
        odd2=dict(n=129),
        seed=dict(n=1024),
        large=dict(n=1536),
        huge=dict(n=2304),
        cpu=dict(n=512),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(a=normal("n", "n"), b=normal("n", "n")),
    outputs=dict(c=output("n", "n")),
    oracle=lambda a, b: a @ b,
    scale=lambda a, b: np.abs(a) @ np.abs(b),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * n * n * n",
    baseline="mx.matmul",
    torch=lambda torch, a, b: torch.matmul(a, b),
)
def sqr_mm(a, b):
    return mx.matmul(a, b)
