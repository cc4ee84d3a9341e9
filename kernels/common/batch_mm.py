"""Products of a batch of matrices."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(batch=2, m=32, k=32, n=64),
        odd1=dict(batch=3, m=37, k=65, n=23),
        odd2=dict(batch=2, m=5, k=129, n=67),
        seed=dict(batch=128, m=128, k=256, n=512),
        large=dict(batch=32, m=512, k=512, n=512),
        huge=dict(batch=128, m=512, k=512, n=512),
        cpu=dict(batch=4, m=128, k=256, n=512),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        a=normal("batch", "m", "k"),
        b=normal("batch", "k", "n"),
    ),
    outputs=dict(c=output("batch", "m", "n")),
    oracle=lambda a, b: a @ b,
    scale=lambda a, b: np.abs(a) @ np.abs(b),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * m * n * k",
    baseline="mx.matmul",
    torch=lambda torch, a, b: torch.matmul(a, b),
)
def batch_mm(a, b):
    return mx.matmul(a, b)
