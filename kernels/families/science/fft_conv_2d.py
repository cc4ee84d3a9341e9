"""Convolution of images of 96 x 96 with one filter of 33 x 33, by Fourier transforms."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task

IMAGES = ("batch", "side", "side")
GENTLE = (even(), coarse(), sparse())


def convolved(x, w):
    """Return the sums over all taps; zeros are around the image.

    A row of taps is a product with a matrix in whose columns it is, one further down in each.
    """
    reach = len(w) // 2
    side = x.shape[-1]
    padded = np.pad(x, [(0, 0), (reach, reach), (reach, reach)])
    y = np.zeros_like(x)
    for row, taps in enumerate(w[::-1, ::-1]):
        matrix = np.zeros_like(w, shape=(side + 2 * reach, side))
        for column in range(side):
            matrix[column : column + len(taps), column] = taps
        y += padded[:, row : row + side] @ matrix
    return y


def magnitude(x, w, side, taps):
    """Return rounding errors of a transform spread over all of its image."""
    lengths = np.sqrt((x**2).sum(axis=(1, 2), keepdims=True) * (w**2).sum())
    return np.broadcast_to(4 * lengths, x.shape)


@task(
    sizes=dict(
        small=dict(batch=2),
        odd1=dict(batch=3),
        odd2=dict(batch=1),
        seed=dict(batch=16),
        large=dict(batch=512),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal(*IMAGES).only(*GENTLE),
        w=normal("taps", "taps").only(*GENTLE),
    ),
    outputs=dict(y=output(*IMAGES)),
    constants=dict(side=96, taps=33),
    oracle=lambda x, w, side, taps: convolved(x, w),
    scale=magnitude,
    flops="110 * batch * 128 * 128",
    baseline="mx.fft.irfft2(mx.fft.rfft2(x) * mx.fft.rfft2(w))",
)
def fft_conv_2d(x, w, side, taps):
    whole = (side + taps - 1, side + taps - 1)
    spectrum = mx.fft.rfft2(x, s=whole) * mx.fft.rfft2(w, s=whole)
    y = mx.fft.irfft2(spectrum, s=whole)
    reach = taps // 2
    return y[:, reach : reach + side, reach : reach + side]
