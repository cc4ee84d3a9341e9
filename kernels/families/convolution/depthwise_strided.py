"""Depthwise convolution of 3 x 3 taps at every second pixel, with a border of zeros."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def depthwise(x, w):
    """Sum over the nine taps. `x` (batch, height, width, channels), `w` (channels, 3, 3, 1)."""
    high, wide = (n // 2 + n % 2 for n in x.shape[1:3])
    x = np.pad(x, [(0, 0), (1, 2), (1, 2), (0, 0)])
    taps = ((i, j) for i in range(3) for j in range(3))
    return sum(x[:, i : i + 2 * high : 2, j : j + 2 * wide : 2] * w[:, i, j, 0] for i, j in taps)


@task(
    sizes=dict(
        small=dict(batch=2, height=10, width=12, channels=8),
        odd1=dict(batch=1, height=13, width=9, channels=5),
        odd2=dict(batch=2, height=1, width=23, channels=33),
        seed=dict(batch=4, height=56, width=56, channels=64),
        large=dict(batch=16, height=224, width=224, channels=64),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height", "width", "channels"), w=normal("channels", 3, 3, 1)),
    outputs=dict(y=output("batch", "ceil_div(height, 2)", "ceil_div(width, 2)", "channels")),
    oracle=depthwise,
    scale=lambda x, w: depthwise(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="18 * batch * ceil_div(height, 2) * ceil_div(width, 2) * channels",
    baseline="mx.conv2d with groups",
)
def depthwise_strided(x, w):
    return mx.conv2d(x, w, stride=2, padding=1, groups=x.shape[-1])
