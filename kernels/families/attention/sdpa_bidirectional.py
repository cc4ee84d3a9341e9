"""Attention of many queries that all see all keys, as encoders have it; 72 dims among the sizes."""

import math

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.attention import PREFILL_SIZES, attend, draw_prefill_size, prefill_inputs


@task(
    sizes=dict(
        PREFILL_SIZES,
        seed=dict(heads=4, kv_heads=4, tokens=256, dims=72),
        large=dict(PREFILL_SIZES["large"], dims=72),
    ),
    gpu_headlines=("large",),
    inputs=prefill_inputs(),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    oracle=lambda q, k, v: attend(q, k, v),
    scale=lambda q, k, v: attend(q, k, v, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention",
)
def sdpa_bidirectional(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale)[0]
