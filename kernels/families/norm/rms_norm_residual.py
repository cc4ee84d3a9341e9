"""Root-mean-square normalisation of what is added to a residual: residual + rms_norm(x) w."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING, ROWS
from metalbench.task.norms import root_mean_square


def normalised(x, w, eps):
    """The norm, with its weights."""
    return x / root_mean_square(x, eps) * w


@task(
    sizes=ROWS,
    gpu_headline="large",
    inputs=dict(
        x=normal("rows", "cols"),
        residual=normal("rows", "cols"),
        w=normal("cols", mean=1, deviation=0.2),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, residual, w, eps: residual + normalised(x, w, eps),
    scale=lambda x, residual, w, eps: np.abs(residual) + np.abs(normalised(x, w, eps)),
    dtypes=FLOATING,
    flops="6 * rows * cols",
    baseline="residual + mx.fast.rms_norm(x)",
)
def rms_norm_residual(x, residual, w, eps):
    return residual + mx.fast.rms_norm(x, w, eps)
