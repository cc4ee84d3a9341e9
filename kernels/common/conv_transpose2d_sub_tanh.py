"""Transposed 3x3 convolution of stride 2, minus 0.5, tanh."""

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
        x=normal("batch", "height", "width", "channels").only(even(), coarse(), sparse()),
        w=normal("filters", 3, 3, "channels", deviation=0.05).only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("batch", "2 * height + 1", "2 * width + 1", "filters")),
    oracle=lambda x, w: np.tanh(convolve_transposed(x, w, 2) - 0.5),
    scale=lambda x, w: convolve_transposed(np.abs(x), np.abs(w), 2) + 0.5,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * height * width * filters * 9 * channels",
    baseline="mx.conv_transpose2d, subtract, tanh",
    torch=lambda torch, x, w: torch.tanh(
        torch.nn.functional.conv_transpose2d(x.movedim(-1, 1), w.movedim(-1, 0), stride=2).movedim(
            1, -1
        )
        - 0.5
    ),
)
def conv_transpose2d_sub_tanh(x, w):
    return mx.tanh(mx.conv_transpose2d(x, w, stride=2) - 0.5)
