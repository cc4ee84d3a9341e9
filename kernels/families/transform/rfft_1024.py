"""Discrete Fourier transform of rows of 1024 real numbers."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def transformed(x, cols):
    """Return real and imaginary parts."""
    found = np.fft.rfft(x)
    return found.real, found.imag


def magnitude(x, cols):
    """Return the sums of absolute terms."""
    terms = np.abs(x).sum(axis=-1, keepdims=True)
    spread = np.broadcast_to(terms, (len(x), cols // 2 + 1))
    return spread, spread


@task(
    sizes=dict(
        small=dict(rows=4),
        odd1=dict(rows=5),
        odd2=dict(rows=19),
        seed=dict(rows=512),
        large=dict(rows=16384),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y_re=output("rows", "cols / 2 + 1"), y_im=output("rows", "cols / 2 + 1")),
    constants=dict(cols=1024),
    oracle=transformed,
    scale=magnitude,
    flops="5 * rows * cols * 5",
    baseline="mx.fft.rfft",
)
def rfft_1024(x, cols):
    found = mx.fft.rfft(x)
    return mx.real(found), mx.imag(found)
