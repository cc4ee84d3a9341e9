"""3x3x3 convolution, relu, leaky relu, gelu, sigmoid, then a bias for each filter."""

import math

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve


def activated(z):
    """sigmoid(gelu(leaky_relu(relu(z)))); what relu leaves is nothing to leaky relu."""
    z = np.maximum(z, 0)
    return scipy.special.expit(z * scipy.special.ndtr(z))


@task(
    sizes=dict(
        small=dict(batch=2, depth=5, height=6, width=7, channels=8, filters=16),
        odd1=dict(batch=1, depth=6, height=5, width=9, channels=5, filters=7),
        odd2=dict(batch=2, depth=9, height=7, width=8, channels=3, filters=33),
        seed=dict(batch=4, depth=32, height=32, width=32, channels=32, filters=64),
        large=dict(batch=1, depth=40, height=48, width=48, channels=32, filters=64),
        huge=dict(batch=2, depth=40, height=48, width=48, channels=32, filters=64),
        cpu=dict(batch=1, depth=10, height=10, width=10, channels=32, filters=64),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "depth", "height", "width", "channels"),
        w=normal("filters", 3, 3, 3, "channels", deviation=0.03).only(even(), coarse(), sparse()),
        bias=normal("filters"),
    ),
    outputs=dict(y=output("batch", "depth - 2", "height - 2", "width - 2", "filters")),
    oracle=lambda x, w, bias: activated(convolve(x, w)) + bias,
    scale=lambda x, w, bias: convolve(np.abs(x), np.abs(w)) / 4 + 1 + np.abs(bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (depth - 2) * (height - 2) * (width - 2) * filters * 27 * channels",
    baseline="mx.conv3d, maximum, where, erf, sigmoid, add",
)
def conv3d_multi_act_bias(x, w, bias):
    y = mx.maximum(mx.conv3d(x, w), 0)
    y = mx.where(y > 0, y, 0.01 * y)
    y = y * (1 + mx.erf(y / math.sqrt(2))) / 2
    return mx.sigmoid(y) + bias
