"""Inverse discrete Fourier transform to rows of 1024 real numbers."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task

SPECTRA = ("rows", "cols / 2 + 1")


def magnitude(re, im, cols):
    """Return the sums of absolute terms: all but the first and the last number count twice."""
    terms = 2 * (np.abs(re) + np.abs(im)).sum(axis=-1, keepdims=True) / cols
    return np.broadcast_to(terms, (len(re), cols))


@task(
    sizes=dict(
        small=dict(rows=4),
        odd1=dict(rows=5),
        odd2=dict(rows=19),
        seed=dict(rows=512),
        large=dict(rows=16384),
    ),
    gpu_headlines=("large",),
    inputs=dict(re=normal(*SPECTRA), im=normal(*SPECTRA)),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(cols=1024),
    oracle=lambda re, im, cols: np.fft.irfft(re + 1j * im),
    scale=magnitude,
    flops="5 * rows * cols * 5",
    baseline="mx.fft.irfft",
)
def irfft_1024(re, im, cols):
    return mx.fft.irfft(re + 1j * im)
