"""Transposed convolution of 16 taps, eight outputs for each position: how vocoders grow sound."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve_transposed


def grown(x, w):
    """Every position adds 16 outputs; four at either end are cut off."""
    return convolve_transposed(x, w, 8)[:, 4:-4]


@task(
    sizes=dict(
        small=dict(batch=1, length=8, channels=8, filters=16),
        odd1=dict(batch=2, length=7, channels=5, filters=7),
        odd2=dict(batch=1, length=37, channels=3, filters=33),
        seed=dict(batch=1, length=64, channels=64, filters=32),
        large=dict(batch=8, length=1024, channels=256, filters=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "length", "channels"), w=normal("filters", 16, "channels")),
    outputs=dict(y=output("batch", "8 * length", "filters")),
    oracle=grown,
    scale=lambda x, w: grown(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * length * 16 * channels * filters",
    baseline="mx.conv_transpose1d",
)
def conv1d_transpose(x, w):
    return mx.conv_transpose1d(x, w, stride=8, padding=4)
