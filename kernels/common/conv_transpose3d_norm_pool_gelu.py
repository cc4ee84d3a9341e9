"""Transposed 3x3x3 convolution plus a term, layer norm over channels, 2x2x2 mean pool, gelu."""

import math

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import normal, output, task
from metalbench.task.oracles import convolve_transposed, split_blocks


def normed_and_pooled(x, w, term, eps):
    """The whole of it in numpy."""
    y = convolve_transposed(x, w) + term
    y = y - y.mean(axis=-1, keepdims=True)
    z = split_blocks(y / np.sqrt(np.square(y).mean(axis=-1, keepdims=True) + eps)).mean(
        axis=(2, 4, 6)
    )
    return z * scipy.special.ndtr(z)


def magnitude(x, w, term, eps):
    """The terms whose differences are normed, in units of the standard deviation."""
    deviation = np.sqrt((convolve_transposed(x, w) + term).var(axis=-1, keepdims=True) + eps)
    terms = convolve_transposed(np.abs(x), np.abs(w)) + np.abs(term)
    terms = (terms + terms.mean(axis=-1, keepdims=True)) / deviation
    return split_blocks(terms).mean(axis=(2, 4, 6))


@task(
    sizes=dict(
        small=dict(batch=2, depth=4, height=5, width=6, channels=8, filters=16),
        odd1=dict(batch=1, depth=3, height=6, width=5, channels=3, filters=70),
        odd2=dict(batch=2, depth=1, height=3, width=7, channels=5, filters=7),
        seed=dict(batch=2, depth=8, height=8, width=8, channels=16, filters=32),
        large=dict(batch=4, depth=30, height=30, width=30, channels=32, filters=32),
        huge=dict(batch=16, depth=30, height=30, width=30, channels=32, filters=32),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("batch", "depth", "height", "width", "channels"),
        w=normal("filters", 3, 3, 3, "channels"),
        term=normal("filters"),
    ),
    outputs=dict(
        y=output("batch", "(depth + 2) / 2", "(height + 2) / 2", "(width + 2) / 2", "filters")
    ),
    constants=dict(eps=1e-5),
    oracle=normed_and_pooled,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * depth * height * width * filters * 27 * channels",
    baseline="mx.conv_transpose3d, mx.fast.layer_norm, mean, erf",
)
def conv_transpose3d_norm_pool_gelu(x, w, term, eps):
    y = mx.fast.layer_norm(mx.conv_transpose3d(x, w) + term, None, None, eps)
    batch, depth, height, width, channels = y.shape
    depth, height, width = depth // 2, height // 2, width // 2
    y = y[:, : 2 * depth, : 2 * height, : 2 * width]
    y = y.reshape(batch, depth, 2, height, 2, width, 2, channels).mean(axis=(2, 4, 6))
    return y * (1 + mx.erf(y / math.sqrt(2))) / 2
