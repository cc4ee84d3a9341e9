"""Residual plus the norm of a row: what some models do after attention."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def rms(x, eps):
    """Rows divided by the root of their mean square."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)


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
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, weight, residual, eps: residual + rms(x, eps) * weight,
    scale=lambda x, weight, residual, eps: np.abs(residual) + np.abs(rms(x, eps) * weight),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * rows * cols",
    baseline="residual + mx.fast.rms_norm",
)
def rms_norm_residual(x, weight, residual, eps):
    return residual + mx.fast.rms_norm(x, weight, eps)
