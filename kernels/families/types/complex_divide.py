"""Quotients of complex numbers: a real and an imaginary part next to each other."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import ELEMENTS


def drawn(random, shape, values):
    """Divisors of sizes from 0.1 to 10 in all directions."""
    sizes = np.exp(np.log(10) * (2 * random.random(shape[:-1]) - 1))
    angles = 2 * np.pi * random.random(shape[:-1])
    return np.stack([sizes * np.cos(angles), sizes * np.sin(angles)], axis=-1).astype(np.float32)


def quotient(a, b):
    y = (a[..., 0] + 1j * a[..., 1]) / (b[..., 0] + 1j * b[..., 1])
    return np.stack([y.real, y.imag], axis=-1)


def magnitudes(a, b):
    """The size of the quotient, which the errors of both parts are relative to."""
    size = np.hypot(a[..., 0], a[..., 1]) / np.hypot(b[..., 0], b[..., 1])
    return np.stack([size, size], axis=-1)


@task(
    sizes=ELEMENTS,
    gpu_headlines=("large",),
    inputs=dict(
        a=normal("rows", "cols", 2),
        b=replace(normal("rows", "cols", 2).only(), draw=drawn, together=True),
    ),
    outputs=dict(y=output("rows", "cols", 2)),
    oracle=quotient,
    scale=magnitudes,
    flops="14 * rows * cols",
    baseline="mx.divide of complex64",
)
def complex_divide(a, b):
    y = a.view(mx.complex64) / b.view(mx.complex64)
    return y.view(mx.float32)
