"""3x3x3 convolution, softmax over channels, two 2x2x2 max pools."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve, softmax, split_blocks


def largest_of_blocks(y):
    """Maximum over 4x4x4 voxels, which is that of two 2x2x2 pools."""
    return split_blocks(y, 4).max(axis=(2, 4, 6))


def magnitude(x, w):
    """An error of an exponent changes its term in proportion."""
    y = convolve(x, w)
    terms = convolve(np.abs(x), np.abs(w)).max(axis=-1, keepdims=True)
    return largest_of_blocks(softmax(y, axis=-1) * (1 + terms))


@task(
    sizes=dict(
        small=dict(batch=2, depth=6, height=7, width=10, channels=8, filters=16),
        odd1=dict(batch=1, depth=6, height=8, width=11, channels=3, filters=70),
        odd2=dict(batch=2, depth=10, height=7, width=9, channels=5, filters=7),
        seed=dict(batch=4, depth=32, height=32, width=32, channels=32, filters=64),
        large=dict(batch=1, depth=40, height=48, width=48, channels=32, filters=64),
        huge=dict(batch=2, depth=40, height=48, width=48, channels=32, filters=64),
        cpu=dict(batch=1, depth=10, height=10, width=10, channels=32, filters=64),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "depth", "height", "width", "channels").only(even(), coarse(), sparse()),
        w=normal("filters", 3, 3, 3, "channels", deviation=0.03).only(even(), coarse(), sparse()),
    ),
    outputs=dict(
        y=output("batch", "(depth - 2) / 4", "(height - 2) / 4", "(width - 2) / 4", "filters")
    ),
    oracle=lambda x, w: largest_of_blocks(softmax(convolve(x, w), axis=-1)),
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (depth - 2) * (height - 2) * (width - 2) * filters * 27 * channels",
    baseline="mx.conv3d, mx.softmax, max",
)
def conv3d_softmax_pool(x, w):
    y = mx.softmax(mx.conv3d(x, w), axis=-1)
    for _ in range(2):
        batch, depth, height, width, channels = y.shape
        depth, height, width = depth // 2, height // 2, width // 2
        y = y[:, : 2 * depth, : 2 * height, : 2 * width]
        y = y.reshape(batch, depth, 2, height, 2, width, 2, channels).max(axis=(2, 4, 6))
    return y
