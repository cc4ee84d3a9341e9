"""Norm of a row with a weight, times a gate: the end of linear attention."""

import mlx.core as mx
import numpy as np
from scipy.special import expit

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
        gate=normal("rows", "cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, weight, gate, eps: rms(x, eps) * weight * gate * expit(gate),
    scale=lambda x, weight, gate, eps: np.abs(rms(x, eps) * weight * gate) * expit(gate),
    dtypes=("float32", "float16", "bfloat16"),
    flops="10 * rows * cols",
    baseline="mx.fast.rms_norm * silu",
)
def gated_rms_norm(x, weight, gate, eps):
    return mx.fast.rms_norm(x, weight, eps) * (gate * mx.sigmoid(gate))
