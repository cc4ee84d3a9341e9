"""Weights of attention: softmax(q k^T / sqrt(dims))."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import softmax


def weights(q, k):
    """`q` (queries, dims), `k` (keys, dims) -> (queries, keys)."""
    return softmax(q @ k.T / math.sqrt(q.shape[-1]), axis=-1)


def magnitude(q, k):
    """An error of a score of s changes its weight by as much times s."""
    largest = np.abs(q @ k.T / math.sqrt(q.shape[-1])).max(axis=-1, keepdims=True)
    return weights(q, k) * (1 + largest)


@task(
    sizes=dict(
        small=dict(queries=16, keys=32, dims=32),
        odd1=dict(queries=37, keys=100, dims=65),
        odd2=dict(queries=17, keys=257, dims=80),
        seed=dict(queries=128, keys=128, dims=64),
        large=dict(queries=4096, keys=4096, dims=128),
        huge=dict(queries=16384, keys=4096, dims=128),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        q=normal("queries", "dims").only(even(), coarse(), sparse()),
        k=normal("keys", "dims").only(even(), coarse(), sparse()),
    ),
    outputs=dict(y=output("queries", "keys")),
    oracle=weights,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * queries * keys * dims + 5 * queries * keys",
    baseline="matmul, mx.softmax",
    torch=lambda torch, q, k: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1),
)
def attention_scores(q, k):
    return mx.softmax(q @ k.T / math.sqrt(q.shape[-1]), axis=-1)
