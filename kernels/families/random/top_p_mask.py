"""The fewest largest logits stay whose probabilities reach p; the others become -inf."""

from collections.abc import Mapping
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, output, task
from metalbench.task.families import FLOATING

P = 0.9
# Sums in float32 differ by some 1e-7. Where p lies nearer to a sum of probabilities than this,
# either mask would be right.
LEAST_MARGIN = 2e-6
LOGITS = normal("rows", "cols", deviation=4)


def draw_decided(
    random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]
) -> np.ndarray:
    """Draw logits, and scale rows until p is not near to a sum of their largest probabilities."""
    x = LOGITS.draw(random, shape, sizes)
    for each in x:
        for _ in range(64):
            weights = np.exp(np.float64(-np.sort(-each)) - each.max())
            if np.abs(np.cumsum(weights) / weights.sum() - P).min() >= LEAST_MARGIN:
                break
            np.multiply(each, np.float32(1.001), out=each)
    return x


def masked(x, p):
    """With what equals the smallest that stays."""
    descending = -np.sort(-x, axis=-1)
    weights = np.exp(descending - descending[:, :1])
    before = np.cumsum(weights, axis=-1) - weights
    stay = before < p * weights.sum(axis=-1, keepdims=True)
    least = np.min(np.where(stay, descending, np.inf), axis=-1, keepdims=True)
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
    inputs=dict(x=replace(LOGITS, draw=draw_decided).only(coarse())),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(p=P),
    oracle=masked,
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.sort, mx.softmax, mx.cumsum, mx.where",
)
def top_p_mask(x, p):
    descending = -mx.sort(-x.astype(mx.float32), axis=-1)
    before = mx.cumsum(mx.softmax(descending, axis=-1), axis=-1, inclusive=False)
    least = mx.min(mx.where(before < p, descending, mx.inf), axis=-1, keepdims=True)
    return mx.where(x >= least, x, -mx.inf)
