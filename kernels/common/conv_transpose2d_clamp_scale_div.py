"""Transposed 3x3 convolution of stride 2 with bias, clamped, doubled, clamped, halved."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve_transposed


@task(
    sizes=dict(
        small=dict(batch=2, height=6, width=5, channels=8, filters=16),
        odd1=dict(batch=1, height=7, width=9, channels=5, filters=7),
        odd2=dict(batch=2, height=11, width=1, channels=3, filters=33),
        seed=dict(batch=8, height=32, width=32, channels=64, filters=128),
        large=dict(batch=8, height=64, width=64, channels=64, filters=128),
        huge=dict(batch=32, height=64, width=64, channels=64, filters=128),
        cpu=dict(batch=2, height=8, width=9, channels=64, filters=128),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "height", "width", "channels"),
        w=normal("filters", 3, 3, "channels", deviation=0.05).only(even(), coarse(), sparse()),
        bias=normal("filters"),
    ),
    outputs=dict(y=output("batch", "2 * height + 1", "2 * width + 1", "filters")),
    oracle=lambda x, w, bias: (
        np.clip(2 * np.clip(convolve_transposed(x, w, 2) + bias, -1, 1), -1, 1) / 2
    ),
    scale=lambda x, w, bias: convolve_transposed(np.abs(x), np.abs(w), 2) + np.abs(bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * 9 * channels",
    baseline="mx.conv_transpose2d, clip",
)
def conv_transpose2d_clamp_scale_div(x, w, bias):
    y = mx.clip(mx.conv_transpose2d(x, w, stride=2) + bias, -1, 1)
    return mx.clip(2 * y, -1, 1) / 2
