"""Transposed 3x3 convolution of stride 2, channels last."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
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
        w=normal("filters", 3, 3, "channels"),
    ),
    outputs=dict(y=output("batch", "2 * height + 1", "2 * width + 1", "filters")),
    oracle=lambda x, w: convolve_transposed(x, w, 2),
    scale=lambda x, w: convolve_transposed(np.abs(x), np.abs(w), 2),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * 9 * channels",
    baseline="mx.conv_transpose2d",
    torch=lambda torch, x, w: torch.nn.functional.conv_transpose2d(
        x.movedim(-1, 1), w.movedim(-1, 0), stride=2
    ).movedim(1, -1),
)
def conv_transpose2d(x, w):
    return mx.conv_transpose2d(x, w, stride=2)
