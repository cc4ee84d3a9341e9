"""Attention of one short head as its formula says: softmax(q k^T / sqrt(dims)) v."""

import math

import mlx.core as mx

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import attention, attention_magnitude


def fused(q, k, v):
    """MLX's own one-pass attention."""
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None, None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale)[0, 0]


@task(
    sizes=dict(
        small=dict(queries=16, keys=32, dims=32),
        odd1=dict(queries=37, keys=100, dims=37),
        odd2=dict(queries=1, keys=257, dims=50),
        seed=dict(queries=128, keys=128, dims=64),
        large=dict(queries=4096, keys=4096, dims=64),
        huge=dict(queries=16384, keys=4096, dims=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        q=normal("queries", "dims").only(even(), coarse(), sparse()),
        k=normal("keys", "dims").only(even(), coarse(), sparse()),
        v=normal("keys", "dims"),
    ),
    outputs=dict(y=output("queries", "dims")),
    oracle=lambda q, k, v: attention(q, k, v),
    scale=lambda q, k, v: attention_magnitude(q, k, v),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * queries * keys * dims + 5 * queries * keys",
    baseline="matmul, mx.softmax, matmul",
    fast=fused,
    against=("eager", "compiled", "fast"),
    torch=lambda torch, q, k, v: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v,
)
def softmax_attention(q, k, v):
    return mx.softmax(q @ k.T / math.sqrt(q.shape[-1]), axis=-1) @ v
