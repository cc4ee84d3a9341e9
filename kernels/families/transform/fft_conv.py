"""Long causal convolution of rows of 512, each with a separate filter, by Fourier transforms."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task


def convolved(x, w):
    """Row by row, term by term."""
    return np.stack([np.convolve(a, b)[: len(a)] for a, b in zip(x, w, strict=True)])


def magnitude(x, w, cols):
    """Rounding errors of a transform spread over all of its row: as large as the two lengths."""
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(w, axis=-1)
    return convolved(np.abs(x), np.abs(w)) + 4 * lengths[:, None]


@task(
    sizes=dict(
        small=dict(rows=4),
        odd1=dict(rows=5),
        odd2=dict(rows=19),
        seed=dict(rows=512),
        large=dict(rows=16384),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols").only(even(), coarse(), sparse()),
        w=normal("rows", "cols").only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(cols=512),
    oracle=lambda x, w, cols: convolved(x, w),
    scale=magnitude,
    flops="110 * rows * 2 * cols",
    baseline="mx.fft.irfft(mx.fft.rfft(x) * mx.fft.rfft(w))",
)
def fft_conv(x, w, cols):
    spectrum = mx.fft.rfft(x, n=2 * cols) * mx.fft.rfft(w, n=2 * cols)
    return mx.fft.irfft(spectrum, n=2 * cols)[:, :cols]
