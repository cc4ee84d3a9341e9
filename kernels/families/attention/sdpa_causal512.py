"""Causal attention of heads of up to 512 dims."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.attention import attend, prefill_inputs


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=16, dims=288),
        odd1=dict(heads=3, kv_heads=1, tokens=37, dims=456),
        odd2=dict(heads=2, kv_heads=2, tokens=70, dims=512),
        seed=dict(heads=4, kv_heads=1, tokens=128, dims=512),
        large=dict(heads=8, kv_heads=4, tokens=2048, dims=512),
    ),
    gpu_headlines=("large",),
    inputs=prefill_inputs(),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=lambda random: dict(
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(16, 130)),
        dims=8 * int(random.integers(4, 65)),
    ),
    oracle=lambda q, k, v: attend(q, k, v, seen=np.tri(q.shape[1]) > 0),
    scale=lambda q, k, v: attend(q, k, v, seen=np.tri(q.shape[1]) > 0, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask='causal')",
)
def sdpa_causal512(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask="causal")[0]
