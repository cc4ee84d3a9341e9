"""Products of complex numbers: a real and an imaginary part next to each other."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import ELEMENTS


def product(a, b):
    real = a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1]
    return np.stack([real, a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]], axis=-1)


def sizes_of_terms(a, b):
    """The sums of the terms' sizes, which rounding errors are relative to."""
    real = abs(a[..., 0] * b[..., 0]) + abs(a[..., 1] * b[..., 1])
    return np.stack([real, abs(a[..., 0] * b[..., 1]) + abs(a[..., 1] * b[..., 0])], axis=-1)


@task(
    sizes=ELEMENTS,
    gpu_headlines=("large",),
    inputs=dict(a=normal("rows", "cols", 2), b=normal("rows", "cols", 2)),
    outputs=dict(y=output("rows", "cols", 2)),
    oracle=product,
    scale=sizes_of_terms,
    flops="6 * rows * cols",
    baseline="mx.multiply of complex64",
)
def complex_multiply(a, b):
    y = a.view(mx.complex64) * b.view(mx.complex64)
    return y.view(mx.float32)
