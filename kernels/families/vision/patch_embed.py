"""Patches of 8 x 8 pixels times a matrix: a vision transformer's first layer."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def embedded(x, w, bias, side):
    """Every patch's product with each filter (features, side, side, channels), plus a bias."""
    batch, height, width, channels = x.shape
    cut = x.reshape(batch, height // side, side, width // side, side, channels)
    rows = cut.transpose(0, 1, 3, 2, 4, 5).reshape(-1, side * side * channels)
    return rows @ w.reshape(len(w), -1).T + bias


@task(
    sizes=dict(
        small=dict(batch=1, height=16, width=24, channels=3, features=16),
        odd1=dict(batch=2, height=40, width=8, channels=5, features=37),
        odd2=dict(batch=1, height=8, width=56, channels=1, features=67),
        seed=dict(batch=1, height=224, width=224, channels=3, features=256),
        large=dict(batch=16, height=448, width=448, channels=3, features=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", "height", "width", "channels"),
        w=normal("features", "side", "side", "channels"),
        bias=normal("features"),
    ),
    outputs=dict(y=output("batch * (height / side) * (width / side)", "features")),
    constants=dict(side=8),
    multiples=dict(height=8, width=8),
    oracle=embedded,
    scale=lambda x, w, bias, side: embedded(np.abs(x), np.abs(w), np.abs(bias), side),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * channels * features",
    baseline="mx.conv2d with stride, plus bias",
)
def patch_embed(x, w, bias, side):
    return mx.conv2d(x, w, stride=side).reshape(-1, len(w)) + bias
