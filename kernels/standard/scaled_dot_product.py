"""Attention of one head: softmax(q k^T / sqrt(dims)) v."""

import math

import mlx.core as mx

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import attention, attention_magnitude


@task(
    sizes=dict(
        small=dict(queries=16, keys=32, dims=32),
        odd1=dict(queries=37, keys=100, dims=64),
        odd2=dict(queries=1, keys=257, dims=80),
        seed=dict(queries=128, keys=128, dims=128),
        large=dict(queries=4096, keys=2048, dims=128),
        huge=dict(queries=16384, keys=2048, dims=128),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        q=normal("queries", "dims").only(even(), coarse(), sparse()),
        k=normal("keys", "dims").only(even(), coarse(), sparse()),
        v=normal("keys", "dims"),
    ),
    outputs=dict(y=output("queries", "dims")),
    multiples=dict(dims=8),
    oracle=lambda q, k, v: attention(q, k, v),
    scale=lambda q, k, v: attention_magnitude(q, k, v),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * queries * keys * dims + 5 * queries * keys",
    baseline="mx.fast.scaled_dot_product_attention",
    torch=lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(
        q[None, None], k[None, None], v[None, None]
    )[0, 0],
)
def scaled_dot_product(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None, None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale)[0, 0]
