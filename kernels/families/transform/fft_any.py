"""Discrete Fourier transform of rows of complex numbers, of any length up to 512."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task

ROWS = ("rows", "cols")


def transformed(re, im):
    """Return the real and imaginary parts of the sums with all roots of unity."""
    places = np.arange(re.shape[-1])
    angles = -2 * np.pi * (np.outer(places, places) % len(places)) / len(places)
    cosines, sines = np.cos(angles), np.sin(angles)
    return re @ cosines - im @ sines, re @ sines + im @ cosines


def magnitude(re, im):
    """Return the sums of absolute terms."""
    terms = (np.abs(re) + np.abs(im)).sum(axis=-1, keepdims=True)
    spread = np.broadcast_to(terms, re.shape)
    return spread, spread


@task(
    sizes=dict(
        small=dict(rows=4, cols=60),
        odd1=dict(rows=5, cols=37),
        odd2=dict(rows=3, cols=509),
        odd3=dict(rows=7, cols=1),
        seed=dict(rows=512, cols=257),
        large=dict(rows=16384, cols=509),
    ),
    gpu_headlines=("large",),
    inputs=dict(re=normal(*ROWS), im=normal(*ROWS)),
    outputs=dict(y_re=output(*ROWS), y_im=output(*ROWS)),
    oracle=transformed,
    scale=magnitude,
    flops="110 * rows * 1024",
    baseline="mx.fft.fft",
)
def fft_any(re, im):
    found = mx.fft.fft(re + 1j * im)
    return mx.real(found), mx.imag(found)
