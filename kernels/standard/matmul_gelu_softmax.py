"""Matrix product, gelu, softmax over rows."""

import math

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import softmax


def activated(x, w):
    """gelu(x w)."""
    z = x @ w
    return z * scipy.special.ndtr(z)


def magnitude(x, w):
    """An error of an exponent changes its term in proportion, and so does that of the largest."""
    largest = (np.abs(x) @ np.abs(w)).max(axis=-1, keepdims=True)
    return softmax(activated(x, w), axis=-1) * (1 + largest)


@task(
    sizes=dict(
        small=dict(m=32, n=64, k=32),
        odd1=dict(m=37, n=23, k=65),
        odd2=dict(m=5, n=67, k=129),
        seed=dict(m=256, n=256, k=256),
        large=dict(m=1024, n=1536, k=1536),
        huge=dict(m=4096, n=1536, k=1536),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("m", "k").only(even(), coarse(), sparse()),
        w=normal("k", "n", deviation=0.06).only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("m", "n")),
    oracle=lambda x, w: softmax(activated(x, w), axis=-1),
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k + 13 * m * n",
    baseline="matmul, mx.erf, mx.softmax",
    torch=lambda torch, x, w: torch.softmax(torch.nn.functional.gelu(x @ w), dim=-1),
)
def matmul_gelu_softmax(x, w):
    z = x @ w
    return mx.softmax(z * (1 + mx.erf(z / math.sqrt(2))) / 2, axis=-1)
