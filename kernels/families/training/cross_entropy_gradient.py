"""Gradient of the cross entropy of every row with respect to its logits."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task, with_special
from metalbench.task.families import FLOATING, ROWS, VOCABULARY


def gradient(logits, target, dloss):
    """(softmax(row) - 1 at the class) times the row's gradient."""
    y = np.exp(logits - logits.max(axis=-1, keepdims=True))
    y /= y.sum(axis=-1, keepdims=True)
    y[np.arange(len(y)), target.astype(np.int64)] -= 1
    return y * dloss[:, None]


def magnitude(logits, target, dloss):
    """The terms of the result, all of one sign."""
    y = np.exp(logits - logits.max(axis=-1, keepdims=True))
    y /= y.sum(axis=-1, keepdims=True)
    y[np.arange(len(y)), target.astype(np.int64)] += 1
    return y * np.abs(dloss[:, None])


@task(
    sizes={**ROWS, **VOCABULARY},
    gpu_headlines=("large",),
    inputs=dict(
        logits=normal("rows", "cols").also(with_special(-math.inf)),
        target=integers("rows", high="cols"),
        dloss=normal("rows"),
    ),
    outputs=dict(dlogits=output("rows", "cols")),
    oracle=gradient,
    scale=magnitude,
    dtypes=FLOATING,
    flops="6 * rows * cols",
    baseline="mx.softmax(precise=True), compare, subtract, multiply",
)
def cross_entropy_gradient(logits, target, dloss):
    y = mx.softmax(logits, axis=-1, precise=True)
    columns = mx.arange(logits.shape[-1], dtype=mx.uint32)
    return (y - (columns == target[:, None]).astype(y.dtype)) * dloss[:, None]
