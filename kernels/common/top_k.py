"""The 16 largest elements of every row, in descending order."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special


def largest(x, k):
    """The `k` largest elements of every row, descending."""
    cols = x.shape[-1]
    return np.sort(np.partition(x, cols - k, axis=-1)[:, cols - k :], axis=-1)[:, ::-1]


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols").also(with_special(math.inf, -math.inf))),
    outputs=dict(y=output("rows", "k")),
    constants=dict(k=16),
    oracle=largest,
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.sort(mx.topk)",
    torch=lambda torch, x, k: torch.topk(x, k, dim=-1).values,
)
def top_k(x, k):
    return mx.sort(mx.topk(x, k, axis=-1), axis=-1)[:, ::-1]
