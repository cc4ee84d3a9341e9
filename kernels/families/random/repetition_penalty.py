"""Logits of tokens that were there before are made less likely, once each."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, integers, normal, output, sparse, task
from metalbench.task.families import FLOATING


def penalised(x, seen, tokens, penalty):
    """Every token of `seen` once, however often it is there."""
    y = x.copy()
    for row, ids in zip(y, seen.astype(np.int64), strict=True):
        once = np.unique(ids)
        row[once] = np.where(row[once] > 0, row[once] / penalty, row[once] * penalty)
    return y


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
    inputs=dict(
        x=normal("rows", "cols").only(coarse(), sparse()),
        seen=integers("rows", "tokens", high="cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(tokens=300, penalty=1.3),
    oracle=penalised,
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.take_along_axis, mx.put_along_axis",
)
def repetition_penalty(x, seen, tokens, penalty):
    logits = mx.take_along_axis(x, seen, axis=-1)
    less = mx.where(logits > 0, logits / penalty, logits * penalty).astype(x.dtype)
    return mx.put_along_axis(x, seen, less, axis=-1)
