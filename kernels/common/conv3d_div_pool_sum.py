"""3x3x3 convolution, halved, max over channels, mean over voxels, plus 0.5, summed."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve


def reduced(x, w):
    """One number: the largest channel of each voxel, averaged, shifted and added up."""
    means = (convolve(x, w) / 2).max(axis=-1).mean(axis=(1, 2, 3))
    return (means + 0.5).sum(keepdims=True)


@task(
    sizes=dict(
        small=dict(batch=2, depth=5, height=6, width=7, channels=8, filters=16),
        odd1=dict(batch=1, depth=6, height=5, width=9, channels=3, filters=70),
        odd2=dict(batch=2, depth=9, height=7, width=8, channels=5, filters=7),
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
    outputs=dict(y=output(1)),
    oracle=reduced,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (depth - 2) * (height - 2) * (width - 2) * filters * 27 * channels",
    baseline="mx.conv3d, max, mean, sum",
)
def conv3d_div_pool_sum(x, w):
    means = (mx.conv3d(x, w) / 2).max(axis=-1).mean(axis=(1, 2, 3))
    return (means + 0.5).sum(keepdims=True)
