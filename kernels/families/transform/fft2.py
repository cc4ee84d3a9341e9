"""Discrete Fourier transform in two dimensions, of images of 128 x 128 complex numbers."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task

IMAGE = ("batch", "side", "side")


def transformed(re, im, side):
    """Real and imaginary parts."""
    found = np.fft.fft2(re + 1j * im)
    return found.real, found.imag


def magnitude(re, im, side):
    """Rounding errors of a transform spread over all of its image."""
    terms = (np.abs(re) + np.abs(im)).sum(axis=(1, 2), keepdims=True)
    spread = np.broadcast_to(terms, re.shape)
    return spread, spread


@task(
    sizes=dict(
        small=dict(batch=1),
        odd1=dict(batch=3),
        odd2=dict(batch=7),
        seed=dict(batch=16),
        large=dict(batch=512),
    ),
    gpu_headlines=("large",),
    inputs=dict(re=normal(*IMAGE), im=normal(*IMAGE)),
    outputs=dict(y_re=output(*IMAGE), y_im=output(*IMAGE)),
    constants=dict(side=128),
    oracle=transformed,
    scale=magnitude,
    flops="5 * batch * side * side * 14",
    baseline="mx.fft.fft2",
)
def fft2(re, im, side):
    found = mx.fft.fft2(re + 1j * im)
    return mx.real(found), mx.imag(found)
