"""Magnitudes of complex numbers: a real and an imaginary part next to each other."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import ELEMENTS


@task(
    sizes=ELEMENTS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols", 2)),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.hypot(x[..., 0], x[..., 1]),
    flops="6 * rows * cols",
    baseline="mx.abs of complex64",
)
def complex_abs(x):
    return mx.abs(x.view(mx.complex64))[..., 0]
