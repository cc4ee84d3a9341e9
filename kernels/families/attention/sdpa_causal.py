"""Causal attention of many queries, heads sharing keys: what reads a prompt."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import attention, attention_magnitude

GENTLE = (even(), coarse(), sparse())


def heads_of(function, q, k, v):
    """Each head by itself, with the keys that it shares."""
    shared = len(q) // len(k)
    return np.stack([function(q[h], k[h // shared], v[h // shared]) for h in range(len(q))])


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=16, dims=32),
        odd1=dict(heads=3, kv_heads=1, tokens=37, dims=80),
        odd2=dict(heads=2, kv_heads=2, tokens=130, dims=128),
        seed=dict(heads=8, kv_heads=2, tokens=256, dims=64),
        dims96=dict(heads=8, kv_heads=8, tokens=512, dims=96),
        large=dict(heads=32, kv_heads=8, tokens=2048, dims=128),
        long=dict(heads=32, kv_heads=8, tokens=32768, dims=128),
    ),
    gpu_headlines=("large", "long"),
    inputs=dict(
        q=normal("heads", "tokens", "dims").only(*GENTLE),
        k=normal("kv_heads", "tokens", "dims").only(*GENTLE),
        v=normal("kv_heads", "tokens", "dims"),
    ),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=lambda random: dict(
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(16, 257)),
        dims=8 * int(random.integers(4, 17)),
    ),
    oracle=lambda q, k, v: heads_of(lambda *one: attention(*one, causal=True), q, k, v),
    scale=lambda q, k, v: heads_of(lambda *one: attention_magnitude(*one, causal=True), q, k, v),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask='causal')",
)
def sdpa_causal(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask="causal")[0]
