"""Three-dimensional 3x3x3 convolution, channels last, no padding."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve


@task(
    sizes=dict(
        small=dict(batch=2, depth=5, height=6, width=7, channels=8, filters=16),
        odd1=dict(batch=1, depth=6, height=5, width=9, channels=5, filters=7),
        odd2=dict(batch=2, depth=9, height=7, width=8, channels=3, filters=33),
        seed=dict(batch=4, depth=32, height=32, width=32, channels=32, filters=64),
        large=dict(batch=1, depth=40, height=48, width=48, channels=32, filters=64),
        huge=dict(batch=2, depth=40, height=48, width=48, channels=32, filters=64),
        cpu=dict(batch=1, depth=10, height=10, width=10, channels=32, filters=64),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "depth", "height", "width", "channels"),
        w=normal("filters", 3, 3, 3, "channels"),
    ),
    outputs=dict(y=output("batch", "depth - 2", "height - 2", "width - 2", "filters")),
    oracle=convolve,
    scale=lambda x, w: convolve(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (depth - 2) * (height - 2) * (width - 2) * filters * 27 * channels",
    baseline="mx.conv3d",
    torch=lambda torch, x, w: torch.nn.functional.conv3d(
        x.movedim(-1, 1), w.movedim(-1, 1)
    ).movedim(1, -1),
)
def conv3d(x, w):
    return mx.conv3d(x, w)
