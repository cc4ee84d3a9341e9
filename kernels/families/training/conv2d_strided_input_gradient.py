"""Gradient of a convolution with any taps, stride and padding with respect to its input."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve_transposed
from metalbench.task.training import STRIDED_CONVOLUTIONS, image_extent


def spread(dy, w, stride, padding, more):
    """Each output's gradient, times the filters, added to the pixels that it came from."""
    dx = convolve_transposed(dy, w.transpose(3, 1, 2, 0), stride)
    dx = np.pad(dx, [(0, 0), (0, more), (0, more), (0, 0)])
    height, width = dx.shape[1:3]
    return dx[:, padding : height - padding, padding : width - padding]


@task(
    sizes=STRIDED_CONVOLUTIONS,
    gpu_headlines=("large",),
    inputs=dict(
        dy=normal("batch", "height", "width", "filters"),
        w=normal("filters", "taps", "taps", "channels"),
    ),
    outputs=dict(dx=output("batch", image_extent("height"), image_extent("width"), "channels")),
    constants=dict(stride=2, padding=1, more=1),
    oracle=spread,
    scale=lambda dy, w, stride, padding, more: spread(np.abs(dy), np.abs(w), stride, padding, more),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * taps * taps * channels",
    baseline="mx.vjp of mx.conv2d",
)
def conv2d_strided_input_gradient(dy, w, stride, padding, more):
    batch, height, width, _ = dy.shape
    added = w.shape[1] - 2 * padding + more
    shape = (batch, (height - 1) * stride + added, (width - 1) * stride + added, w.shape[-1])
    return mx.vjp(lambda x: mx.conv2d(x, w, stride, padding), [mx.zeros(shape, dy.dtype)], [dy])[1][
        0
    ]
