"""Patches of 3 x 3 pixels side by side, a row for each: a convolution's input as a matrix."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def unfolded(x):
    """Rows of the nine pixels around each that has all of them."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    rows = windows.transpose(0, 1, 2, 4, 5, 3)
    return rows.reshape(*rows.shape[:3], -1)


@task(
    sizes=dict(
        small=dict(batch=1, height=6, width=7, channels=4),
        odd1=dict(batch=2, height=3, width=9, channels=5),
        odd2=dict(batch=1, height=13, width=3, channels=33),
        seed=dict(batch=1, height=64, width=64, channels=32),
        large=dict(batch=4, height=224, width=224, channels=64),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "height", "width", "channels")),
    outputs=dict(y=output("batch", "height - 2", "width - 2", "9 * channels")),
    oracle=unfolded,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    baseline="mx.as_strided, reshape",
)
def im2col(x):
    batch, height, width, channels = x.shape
    line = width * channels
    shape = (batch, height - 2, width - 2, 3, 3 * channels)
    windows = mx.as_strided(x, shape, (height * line, line, channels, line, 1))
    return windows.reshape(*shape[:3], -1)
