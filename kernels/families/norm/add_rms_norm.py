"""Sum with a residual and its root-mean-square norm with weights, both of which are kept."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING, ROWS
from metalbench.task.norms import root_mean_square


def both(x, residual, w, eps):
    """The sum, and its norm."""
    total = x + residual
    return total, total / root_mean_square(total, eps) * w


def magnitude(x, residual, w, eps):
    """The terms of the sum, and in units of its root mean square."""
    terms = np.abs(x) + np.abs(residual)
    return terms, terms / root_mean_square(x + residual, eps) * np.abs(w)


@task(
    sizes=ROWS,
    gpu_headline="large",
    inputs=dict(
        x=normal("rows", "cols"),
        residual=normal("rows", "cols"),
        w=normal("cols", mean=1, deviation=0.2),
    ),
    outputs=dict(total_sum=output("rows", "cols"), y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=both,
    scale=magnitude,
    dtypes=FLOATING,
    flops="6 * rows * cols",
    baseline="x + residual, mx.fast.rms_norm",
)
def add_rms_norm(x, residual, w, eps):
    total = x + residual
    return total, mx.fast.rms_norm(total, w, eps)
