"""A small residual network: stem, one residual block, global mean, dense layer."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve_with_padding

GENTLE = (even(), coarse(), sparse())


def network(x, w_stem, w1, w2, w_classes):
    """The whole network in numpy."""
    x = np.maximum(convolve_with_padding(x, w_stem), 0)
    x = np.maximum(convolve_with_padding(np.maximum(convolve_with_padding(x, w1), 0), w2) + x, 0)
    return x.mean(axis=(1, 2)) @ w_classes


def magnitude(x, w_stem, w1, w2, w_classes):
    """Sums of absolute terms: those of a layer are what the next one adds up the errors of."""
    stem = convolve_with_padding(np.abs(x), np.abs(w_stem))
    x = np.maximum(convolve_with_padding(x, w_stem), 0)
    inner = convolve_with_padding(x, np.abs(w1))
    return (convolve_with_padding(inner, np.abs(w2)) + stem).mean(axis=(1, 2)) @ np.abs(w_classes)


@task(
    sizes=dict(
        small=dict(batch=2, height=8, width=9, channels=8, classes=10),
        odd1=dict(batch=1, height=7, width=13, channels=5, classes=3),
        odd2=dict(batch=3, height=5, width=1, channels=35, classes=33),
        seed=dict(batch=1, height=32, width=32, channels=16, classes=10),
        large=dict(batch=64, height=64, width=64, channels=32, classes=10),
        huge=dict(batch=128, height=64, width=64, channels=32, classes=10),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "height", "width", 3).only(*GENTLE),
        w_stem=normal("channels", 3, 3, 3, deviation=0.2).only(*GENTLE),
        w1=normal("channels", 3, 3, "channels", deviation=0.08).only(*GENTLE),
        w2=normal("channels", 3, 3, "channels", deviation=0.08).only(*GENTLE),
        w_classes=normal("channels", "classes", deviation=0.25).only(*GENTLE),
    ),
    outputs=dict(y=output("batch", "classes")),
    oracle=network,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (height * width * channels * (27 + 18 * channels) + channels * classes)",
    baseline="mx.conv2d, maximum, mean, matmul",
)
def resnet(x, w_stem, w1, w2, w_classes):
    x = mx.maximum(mx.conv2d(x, w_stem, padding=1), 0)
    inner = mx.maximum(mx.conv2d(x, w1, padding=1), 0)
    x = mx.maximum(mx.conv2d(inner, w2, padding=1) + x, 0)
    return x.mean(axis=(1, 2)) @ w_classes
