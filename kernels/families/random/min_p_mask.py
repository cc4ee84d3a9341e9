"""Logits whose probability is below a share of the largest one of their row become -inf."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, output, task
from metalbench.task.matrices import FLOATING


@task(
    sizes=dict(
        small=dict(rows=2, cols=256),
        odd1=dict(rows=3, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=4, cols=8192),
        large=dict(rows=32, cols=152064),
    ),
    gpu_headline="large",
    inputs=dict(x=normal("rows", "cols", deviation=4).only(coarse())),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(log_p=-2.302585093),
    oracle=lambda x, log_p: np.where(x >= x.max(axis=-1, keepdims=True) + log_p, x, -np.inf),
    dtypes=FLOATING,
    flops="2 * rows * cols",
    baseline="mx.where(x >= mx.max(x) + log p)",
)
def min_p_mask(x, log_p):
    largest = mx.max(x, axis=-1, keepdims=True).astype(mx.float32)
    return mx.where(x >= largest + log_p, x, -mx.inf)
