"""Gradient of a 3 x 3 convolution, channels last, with respect to its input."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def spread(dy, w):
    """Each output's gradient, times the filters, added to the pixels that it came from."""
    batch, height, width, _ = dy.shape
    dx = np.zeros_like(dy, shape=(batch, height + 2, width + 2, w.shape[-1]), order="C")
    for y, x in np.ndindex(3, 3):
        dx[:, y : y + height, x : x + width] += dy @ w[:, y, x]
    return dx


@task(
    sizes=dict(
        small=dict(batch=2, height=8, width=10, channels=8, filters=16),
        odd1=dict(batch=1, height=11, width=7, channels=5, filters=7),
        odd2=dict(batch=2, height=17, width=21, channels=33, filters=3),
        seed=dict(batch=2, height=14, width=14, channels=64, filters=128),
        large=dict(batch=8, height=126, width=126, channels=64, filters=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        dy=normal("batch", "height", "width", "filters"),
        w=normal("filters", 3, 3, "channels"),
    ),
    outputs=dict(dx=output("batch", "height + 2", "width + 2", "channels")),
    oracle=spread,
    scale=lambda dy, w: spread(np.abs(dy), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * 9 * channels",
    baseline="mx.vjp of mx.conv2d",
)
def conv2d_input_gradient(dy, w):
    batch, height, width, _ = dy.shape
    x = mx.zeros((batch, height + 2, width + 2, w.shape[-1]), dy.dtype)
    return mx.vjp(lambda x: mx.conv2d(x, w), [x], [dy])[1][0]
