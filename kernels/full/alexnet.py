"""A small AlexNet: three times convolution, 2x2 max pool and relu, then two dense layers."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import convolve, split_blocks

# Five layers of nine zeros in ten would leave a handful of terms, and no errors to measure by.
DENSE = (even(), coarse())


def hidden(x, w1, w2, w3, w4):
    """All but the last layer in numpy."""
    for w in (w1, w2, w3):
        x = np.maximum(split_blocks(convolve(x, w)).max(axis=(2, 4)), 0)
    return np.maximum(x.reshape(x.shape[0], -1) @ w4, 0)


def network(x, w1, w2, w3, w4, w5):
    """The whole network in numpy."""
    return hidden(x, w1, w2, w3, w4) @ w5


def magnitude(x, w1, w2, w3, w4, w5):
    """The last layer's sums of absolute terms: a class may come near to zero by itself."""
    return hidden(x, w1, w2, w3, w4) @ np.abs(w5)


# The side of the maps after each pooling.
FIRST = "(side - 4) / 2"
SECOND = f"({FIRST} - 2) / 2"
THIRD = f"({SECOND} - 2) / 2"


@task(
    sizes=dict(
        small=dict(batch=2, side=24, c1=8, c2=8, c3=16, hidden=32, classes=10),
        odd1=dict(batch=1, side=27, c1=5, c2=7, c3=9, hidden=13, classes=3),
        odd2=dict(batch=3, side=33, c1=7, c2=35, c3=10, hidden=37, classes=33),
        seed=dict(batch=1, side=32, c1=32, c2=64, c3=128, hidden=256, classes=10),
        large=dict(batch=384, side=32, c1=32, c2=64, c3=128, hidden=256, classes=10),
        huge=dict(batch=1536, side=32, c1=32, c2=64, c3=128, hidden=256, classes=10),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "side", "side", 3).only(*DENSE, sparse()),
        w1=normal("c1", 5, 5, 3, deviation=0.12).only(*DENSE),
        w2=normal("c2", 3, 3, "c1", deviation=0.06).only(*DENSE),
        w3=normal("c3", 3, 3, "c2", deviation=0.04).only(*DENSE),
        w4=normal(f"({THIRD}) * ({THIRD}) * c3", "hidden", deviation=0.05).only(*DENSE),
        w5=normal("hidden", "classes", deviation=0.07).only(*DENSE),
    ),
    outputs=dict(y=output("batch", "classes")),
    oracle=network,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * ((side - 4) * (side - 4) * c1 * 75"
    f" + ({FIRST} - 2) * ({FIRST} - 2) * c2 * 9 * c1"
    f" + ({SECOND} - 2) * ({SECOND} - 2) * c3 * 9 * c2"
    f" + ({THIRD}) * ({THIRD}) * c3 * hidden + hidden * classes)",
    baseline="mx.conv2d, max, maximum, matmul",
)
def alexnet(x, w1, w2, w3, w4, w5):
    for w in (w1, w2, w3):
        x = mx.maximum(split_blocks(mx.conv2d(x, w)).max(axis=(2, 4)), 0)
    return mx.maximum(x.reshape(x.shape[0], -1) @ w4, 0) @ w5
