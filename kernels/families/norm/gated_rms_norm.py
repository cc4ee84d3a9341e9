"""Root-mean-square normalisation with weights and a gate: rms_norm(x) w silu(gate)."""

import mlx.core as mx
import scipy.special
from mlx import nn

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING, ROWS
from metalbench.task.norms import root_mean_square


def gated(x, gate, w, eps):
    """The norm times the gate's silu."""
    return x / root_mean_square(x, eps) * w * gate * scipy.special.expit(gate)


@task(
    sizes=ROWS,
    gpu_headline="large",
    inputs=dict(
        x=normal("rows", "cols"),
        gate=normal("rows", "cols"),
        w=normal("cols", mean=1, deviation=0.2),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=gated,
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.fast.rms_norm * nn.silu",
)
def gated_rms_norm(x, gate, w, eps):
    return mx.fast.rms_norm(x, w, eps) * nn.silu(gate)
