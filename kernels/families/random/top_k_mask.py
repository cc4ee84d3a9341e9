"""Logits but the largest of each row, as many as are asked for, become -inf."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, output, task
from metalbench.task.families import FLOATING


def masked(x, count):
    """With what equals the smallest that stays."""
    least = np.sort(x, axis=-1)[:, -count, None]
    return np.where(x >= least, x, -np.inf)


@task(
    sizes=dict(
        small=dict(rows=2, cols=256),
        odd1=dict(rows=3, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=4, cols=8192),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=32, cols=152064),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols", deviation=4).only(coarse())),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(count=50),
    oracle=masked,
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.where(x >= min(mx.topk))",
)
def top_k_mask(x, count):
    least = mx.min(mx.topk(x, count, axis=-1), axis=-1, keepdims=True)
    return mx.where(x >= least, x, -mx.inf)
