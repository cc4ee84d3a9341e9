"""Product of two matrices that are not square."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(m=32, n=64, k=32),
        odd1=dict(m=37, n=23, k=65),
        odd2=dict(m=5, n=67, k=129),
        seed=dict(m=1024, n=2048, k=4096),
        large=dict(m=1024, n=2048, k=2048),
        huge=dict(m=4096, n=2048, k=2048),
        cpu=dict(m=256, n=512, k=512),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        a=normal("m", "k"),
        b=normal("k", "n"),
    ),
    outputs=dict(c=output("m", "n")),
    oracle=lambda a, b: a @ b,
    scale=lambda a, b: np.abs(a) @ np.abs(b),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k",
    baseline="mx.matmul",
    torch=lambda torch, a, b: torch.matmul(a, b),
)
def rect_mm(a, b):
    return mx.matmul(a, b)
