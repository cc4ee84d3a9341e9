"""3x3 convolution, relu, then a bias for each filter."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve


@task(
    sizes=dict(
        small=dict(batch=2, height=10, width=12, channels=8, filters=16),
        odd1=dict(batch=1, height=13, width=9, channels=5, filters=7),
        odd2=dict(batch=2, height=19, width=23, channels=3, filters=33),
        seed=dict(batch=8, height=64, width=64, channels=64, filters=128),
        large=dict(batch=2, height=128, width=128, channels=64, filters=128),
        huge=dict(batch=8, height=128, width=128, channels=64, filters=128),
        cpu=dict(batch=2, height=16, width=16, channels=64, filters=128),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "height", "width", "channels"),
        w=normal("filters", 3, 3, "channels"),
        bias=normal("filters"),
    ),
    outputs=dict(y=output("batch", "height - 2", "width - 2", "filters")),
    oracle=lambda x, w, bias: np.maximum(convolve(x, w), 0) + bias,
    scale=lambda x, w, bias: convolve(np.abs(x), np.abs(w)) + np.abs(bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (height - 2) * (width - 2) * filters * 9 * channels",
    baseline="mx.conv2d, maximum, add",
    torch=lambda torch, x, w, bias: (
        torch.nn.functional.conv2d(x.movedim(-1, 1), w.movedim(-1, 1)).relu().movedim(1, -1) + bias
    ),
)
def conv2d_relu_bias(x, w, bias):
    return mx.maximum(mx.conv2d(x, w), 0) + bias
