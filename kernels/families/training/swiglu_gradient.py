"""Gradients of a gated layer's silu(gate) up with respect to gate and up."""

import mlx.core as mx
import numpy as np
from scipy.special import expit

from metalbench.task import normal, output, task


def gradients(dy, gate, up):
    """With silu' = s + gate s (1 - s)."""
    s = expit(gate)
    return dy * up * (s + gate * s * expit(-gate)), dy * gate * s


def magnitudes(dy, gate, up):
    """The terms of each result, all of one sign."""
    s = expit(gate)
    dgate = np.abs(dy * up) * (s + np.abs(gate) * s * expit(-gate))
    return dgate, np.abs(dy * gate * s)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        dy=normal("rows", "cols"),
        gate=normal("rows", "cols", deviation=2.0),
        up=normal("rows", "cols"),
    ),
    outputs=dict(dgate=output("rows", "cols"), dup=output("rows", "cols")),
    oracle=gradients,
    scale=magnitudes,
    dtypes=("float32", "float16", "bfloat16"),
    flops="12 * rows * cols",
    baseline="mx.sigmoid, multiply, add",
)
def swiglu_gradient(dy, gate, up):
    s = mx.sigmoid(gate)
    return dy * up * (s + gate * s * mx.sigmoid(-gate)), dy * gate * s
