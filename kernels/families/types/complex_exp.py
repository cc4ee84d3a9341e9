"""Exponentials of complex numbers: a real and an imaginary part next to each other."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.families import ELEMENTS


def exponential(x):
    y = np.exp(x[..., 0] + 1j * x[..., 1])
    return np.stack([y.real, y.imag], axis=-1)


def magnitudes(x):
    """The size of the exponential, which the errors of both parts are relative to."""
    size = np.exp(x[..., 0])
    return np.stack([size, size], axis=-1)


@task(
    sizes=ELEMENTS,
    gpu_headlines=("large",),
    # Of large numbers the exponential is infinite, or nothing but an angle's rounding.
    inputs=dict(x=normal("rows", "cols", 2).only(even(), coarse(), sparse())),
    outputs=dict(y=output("rows", "cols", 2)),
    oracle=exponential,
    scale=magnitudes,
    flops="24 * rows * cols",
    baseline="mx.exp of complex64",
)
def complex_exp(x):
    return mx.exp(x.view(mx.complex64)).view(mx.float32)
