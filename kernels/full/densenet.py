"""A small densely connected network: stem, two layers that see all before them, mean, dense."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve_with_padding

GENTLE = (even(), coarse(), sparse())


def means(x, w1, w2, w3):
    """All but the last layer in numpy."""
    features = np.maximum(convolve_with_padding(x, w1), 0)
    for w in (w2, w3):
        features = np.concatenate(
            [features, np.maximum(convolve_with_padding(features, w), 0)], axis=-1
        )
    return features.mean(axis=(1, 2))


def network(x, w1, w2, w3, w_classes):
    """The whole network in numpy."""
    return means(x, w1, w2, w3) @ w_classes


def magnitude(x, w1, w2, w3, w_classes):
    """The last layer's sums of absolute terms: a class may come near to zero by itself."""
    return means(x, w1, w2, w3) @ np.abs(w_classes)


@task(
    sizes=dict(
        small=dict(batch=2, height=8, width=9, growth=8, classes=10),
        odd1=dict(batch=1, height=7, width=13, growth=5, classes=3),
        odd2=dict(batch=3, height=5, width=1, growth=35, classes=33),
        seed=dict(batch=1, height=16, width=16, growth=12, classes=10),
        large=dict(batch=32, height=64, width=64, growth=32, classes=10),
        huge=dict(batch=128, height=64, width=64, growth=32, classes=10),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "height", "width", 3).only(*GENTLE),
        w1=normal("growth", 3, 3, 3, deviation=0.2).only(*GENTLE),
        w2=normal("growth", 3, 3, "growth", deviation=0.1).only(*GENTLE),
        w3=normal("growth", 3, 3, "2 * growth", deviation=0.07).only(*GENTLE),
        w_classes=normal("3 * growth", "classes", deviation=0.17).only(*GENTLE),
    ),
    outputs=dict(y=output("batch", "classes")),
    oracle=network,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * (height * width * growth * (27 + 27 * growth) + 3 * growth * classes)",
    baseline="mx.conv2d, maximum, concatenate, mean, matmul",
)
def densenet(x, w1, w2, w3, w_classes):
    features = mx.maximum(mx.conv2d(x, w1, padding=1), 0)
    for w in (w2, w3):
        grown = mx.maximum(mx.conv2d(features, w, padding=1), 0)
        features = mx.concatenate([features, grown], axis=-1)
    return features.mean(axis=(1, 2)) @ w_classes
