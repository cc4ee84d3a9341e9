"""Gradient of a 3 x 3 convolution, channels last, with respect to its filters."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def correlate(x, dy):
    """For each tap, the products of the pixels there with the outputs' gradients."""
    _, height, width, filters = dy.shape
    dw = np.zeros_like(dy, shape=(filters, 3, 3, x.shape[-1]), order="C")
    flat = dy.reshape(-1, filters)
    for row, column in np.ndindex(3, 3):
        pixels = x[:, row : row + height, column : column + width]
        dw[:, row, column] = flat.T @ pixels.reshape(-1, x.shape[-1])
    return dw


@task(
    sizes=dict(
        small=dict(batch=2, height=10, width=12, channels=8, filters=16),
        odd1=dict(batch=1, height=13, width=9, channels=5, filters=7),
        odd2=dict(batch=2, height=19, width=23, channels=3, filters=33),
        seed=dict(batch=2, height=16, width=16, channels=64, filters=128),
        large=dict(batch=8, height=128, width=128, channels=64, filters=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", "height", "width", "channels"),
        dy=normal("batch", "height - 2", "width - 2", "filters"),
    ),
    outputs=dict(dw=output("filters", 3, 3, "channels")),
    oracle=correlate,
    scale=lambda x, dy: correlate(np.abs(x), np.abs(dy)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (height - 2) * (width - 2) * filters * 9 * channels",
    baseline="mx.vjp of mx.conv2d",
)
def conv2d_weight_gradient(x, dy):
    w = mx.zeros((dy.shape[-1], 3, 3, x.shape[-1]), x.dtype)
    return mx.vjp(lambda w: mx.conv2d(x, w), [w], [dy])[1][0]
