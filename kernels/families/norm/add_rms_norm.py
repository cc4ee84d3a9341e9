"""Sum of a row and a residual, and its norm with a weight: both are wanted."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def both(whole, weight, eps):
    """The norm and what it is of."""
    square = (whole * whole).mean(axis=-1, keepdims=True)
    return whole / np.sqrt(square + eps) * weight, whole


def terms(x, weight, residual, eps):
    """The terms of both."""
    square = ((x + residual) ** 2).mean(axis=-1, keepdims=True)
    whole = np.abs(x) + np.abs(residual)
    return whole / np.sqrt(square + eps) * np.abs(weight), whole


def both_of(x, weight, residual, eps):
    whole = x + residual
    return mx.fast.rms_norm(whole, weight, eps), whole


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols"),
        weight=normal("cols", mean=1.0, deviation=0.2),
        residual=normal("rows", "cols"),
    ),
    outputs=dict(y=output("rows", "cols"), sum=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, weight, residual, eps: both(x + residual, weight, eps),
    scale=lambda x, weight, residual, eps: terms(x, weight, residual, eps),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * rows * cols",
    baseline="x + residual, mx.fast.rms_norm",
)
def add_rms_norm(x, weight, residual, eps):
    return both_of(x, weight, residual, eps)
