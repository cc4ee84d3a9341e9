"""Gradient of a convolution with any taps, stride and padding with respect to its filters."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.training import STRIDED_CONVOLUTIONS, image_extent


def count_taps(x, dy, stride, padding, more):
    """Return the taps of a filter in each direction, by the extents of the images."""
    return x.shape[1] + 2 * padding - more - (dy.shape[1] - 1) * stride


def correlate(x, dy, stride, padding, more):
    """For each tap, the products of the pixels there with the outputs' gradients."""
    taps = count_taps(x, dy, stride, padding, more)
    x = np.pad(x, [(0, 0), (padding, padding), (padding, padding), (0, 0)])
    _, height, width, filters = dy.shape
    dw = np.zeros_like(dy, shape=(filters, taps, taps, x.shape[-1]), order="C")
    flat = dy.reshape(-1, filters)
    for tap in np.ndindex(taps, taps):
        rows, columns = (
            slice(at, at + stride * (count - 1) + 1, stride)
            for at, count in zip(tap, (height, width), strict=True)
        )
        dw[(slice(None), *tap)] = flat.T @ x[:, rows, columns].reshape(-1, x.shape[-1])
    return dw


@task(
    sizes=STRIDED_CONVOLUTIONS,
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", image_extent("height"), image_extent("width"), "channels"),
        dy=normal("batch", "height", "width", "filters"),
    ),
    outputs=dict(dw=output("filters", "taps", "taps", "channels")),
    constants=dict(stride=2, padding=1, more=1),
    oracle=correlate,
    scale=lambda x, dy, stride, padding, more: correlate(
        np.abs(x), np.abs(dy), stride, padding, more
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * taps * taps * channels",
    baseline="mx.vjp of mx.conv2d",
)
def conv2d_strided_weight_gradient(x, dy, stride, padding, more):
    taps = count_taps(x, dy, stride, padding, more)
    w = mx.zeros((dy.shape[-1], taps, taps, x.shape[-1]), x.dtype)
    return mx.vjp(lambda w: mx.conv2d(x, w, stride, padding), [w], [dy])[1][0]
