"""Fourier transform of rows of 1024 complex numbers, real and imaginary parts apart."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, heavy_tailed, normal, output, sparse, task

# Of a constant row all but one element cancel.
CENTRED = (heavy_tailed(), even(), coarse(), sparse())


def transformed(real, imaginary, cols):
    """The transform in complex double precision."""
    y = np.fft.fft(real + 1j * imaginary, axis=-1)
    return y.real, y.imag


def magnitude(real, imaginary, cols):
    """As large as any element's terms are together, to within their signs."""
    norm = np.sqrt((real * real + imaginary * imaginary).sum(axis=-1, keepdims=True))
    whole = np.broadcast_to(norm, real.shape)
    return whole, whole


@task(
    sizes=dict(
        small=dict(rows=4),
        odd1=dict(rows=3),
        odd2=dict(rows=17),
        seed=dict(rows=512),
        large=dict(rows=8192),
    ),
    gpu_headline="large",
    inputs=dict(
        real=normal("rows", "cols").only(*CENTRED),
        imaginary=normal("rows", "cols").only(*CENTRED),
    ),
    outputs=dict(y_real=output("rows", "cols"), y_imaginary=output("rows", "cols")),
    constants=dict(cols=1024),
    oracle=transformed,
    scale=magnitude,
    flops="50 * rows * cols",
    baseline="mx.fft.fft",
)
def fft_1024(real, imaginary, cols):
    y = mx.fft.fft(real + 1j * imaginary, axis=-1)
    return mx.real(y), mx.imag(y)
