"""One-dimensional convolution of three taps, channels last, no padding."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve


@task(
    sizes=dict(
        small=dict(batch=2, length=20, channels=8, filters=16),
        odd1=dict(batch=1, length=37, channels=5, filters=7),
        odd2=dict(batch=3, length=129, channels=3, filters=33),
        seed=dict(batch=8, length=256, channels=64, filters=128),
        large=dict(batch=32, length=1024, channels=128, filters=192),
        huge=dict(batch=128, length=1024, channels=128, filters=192),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "length", "channels"), w=normal("filters", 3, "channels")),
    outputs=dict(y=output("batch", "length - 2", "filters")),
    oracle=convolve,
    scale=lambda x, w: convolve(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (length - 2) * filters * 3 * channels",
    baseline="mx.conv1d",
    torch=lambda torch, x, w: torch.nn.functional.conv1d(x.mT, w.mT).mT,
)
def conv1d(x, w):
    return mx.conv1d(x, w)
