"""Depthwise 3x3 convolution: each channel with its filter, channels last, no padding."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def depthwise(x, w):
    """Sum over the nine taps. `x` (batch, height, width, channels), `w` (channels, 3, 3, 1)."""
    height, width = x.shape[1] - 2, x.shape[2] - 2
    taps = ((i, j) for i in range(3) for j in range(3))
    return sum(x[:, i : i + height, j : j + width] * w[:, i, j, 0] for i, j in taps)


@task(
    sizes=dict(
        small=dict(batch=2, height=10, width=12, channels=8),
        odd1=dict(batch=1, height=13, width=9, channels=5),
        odd2=dict(batch=2, height=19, width=23, channels=33),
        seed=dict(batch=8, height=64, width=64, channels=64),
        large=dict(batch=16, height=130, width=130, channels=64),
        huge=dict(batch=80, height=130, width=130, channels=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "height", "width", "channels"),
        w=normal("channels", 3, 3, 1),
    ),
    outputs=dict(y=output("batch", "height - 2", "width - 2", "channels")),
    oracle=depthwise,
    scale=lambda x, w: depthwise(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (height - 2) * (width - 2) * 9 * channels",
    baseline="mx.conv2d with groups",
    torch=lambda torch, x, w: torch.nn.functional.conv2d(
        x.movedim(-1, 1), w.movedim(-1, 1), groups=x.shape[-1]
    ).movedim(1, -1),
)
def depthwise_conv2d(x, w):
    return mx.conv2d(x, w, groups=x.shape[-1])
