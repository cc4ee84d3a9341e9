"""Logits of tokens that are likely enough: those with a tenth of the best one's odds."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import even, heavy_tailed, normal, output, shifted, sparse, task

LEAST = math.log(0.1)


@task(
    sizes=dict(
        small=dict(rows=8, vocabulary=256),
        odd1=dict(rows=3, vocabulary=1023),
        odd2=dict(rows=5, vocabulary=4097),
        seed=dict(rows=64, vocabulary=32768),
        vocabulary=dict(rows=1, vocabulary=152064),
        large=dict(rows=256, vocabulary=152064),
    ),
    gpu_headlines=("large",),
    # Without values in steps, of which one might lie where the odds are cut.
    inputs=dict(
        x=normal("rows", "vocabulary").only(shifted(100), heavy_tailed(), even(), sparse())
    ),
    outputs=dict(y=output("rows", "vocabulary")),
    oracle=lambda x: np.where(x >= x.max(axis=-1, keepdims=True) + LEAST, x, -np.inf),
    flops="2 * rows * vocabulary",
    baseline="mx.where(x >= max + log p, x, -inf)",
)
def min_p_mask(x):
    return mx.where(x >= x.max(axis=-1, keepdims=True) + LEAST, x, -math.inf)
