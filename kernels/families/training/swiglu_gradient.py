"""Gradients of a gated layer's silu(gate) up with respect to gate and up."""

import mlx.core as mx
import numpy as np
from scipy.special import expit

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS


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
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        dy=normal("rows", "cols"),
        gate=normal("rows", "cols", deviation=2.0),
        up=normal("rows", "cols"),
    ),
    outputs=dict(dgate=output("rows", "cols"), dup=output("rows", "cols")),
    oracle=gradients,
    scale=magnitudes,
    dtypes=FLOATING,
    flops="12 * rows * cols",
    baseline="mx.sigmoid, multiply, add",
)
def swiglu_gradient(dy, gate, up):
    s = mx.sigmoid(gate)
    return dy * up * (s + gate * s * mx.sigmoid(-gate)), dy * gate * s
