"""Causal attention of a block of new tokens over a cache of what came before, filled in part."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import GENTLE_VARIATIONS, attend, cache

ROWS = ("kv_heads", "before + tokens + spare", "dims")


def result(q, k, v, spare, sizes=False):
    """Queries and output are (tokens, heads, dims)."""
    k, v = (each[:, : each.shape[1] - spare] for each in (k, v))
    tokens, keys = len(q), k.shape[1]
    seen = np.tri(tokens, keys, keys - tokens) > 0
    return attend(q.swapaxes(0, 1), k, v, seen=seen, sizes=sizes).swapaxes(0, 1)


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=8, before=21, dims=32),
        odd1=dict(heads=3, kv_heads=1, tokens=37, before=5, dims=80),
        odd2=dict(heads=2, kv_heads=2, tokens=1, before=130, dims=72),
        seed=dict(heads=8, kv_heads=2, tokens=32, before=500, dims=128),
        large=dict(heads=32, kv_heads=8, tokens=512, before=8192, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("tokens", "heads", "dims").only(*GENTLE_VARIATIONS),
        k=cache(*ROWS, filled="before + tokens", variations=GENTLE_VARIATIONS),
        v=cache(*ROWS, filled="before + tokens"),
    ),
    outputs=dict(y=output("tokens", "heads", "dims")),
    constants=dict(spare=45),
    draw=lambda random: dict(
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(1, 65)),
        before=int(random.integers(1, 513)),
        dims=8 * int(random.integers(4, 17)),
    ),
    oracle=lambda q, k, v, spare: result(q, k, v, spare),
    scale=lambda q, k, v, spare: result(q, k, v, spare, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * (before + tokens) * dims",
    bytes="itemsize * dims * (2 * heads * tokens + 2 * kv_heads * (before + tokens))",
    baseline="mx.fast.scaled_dot_product_attention(mask='causal')",
)
def sdpa_prefix_block(q, k, v, spare):
    scale = 1 / math.sqrt(q.shape[-1])
    k, v = (each[None, :, : each.shape[1] - spare] for each in (k, v))
    q = q.swapaxes(0, 1)[None]
    y = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal")
    return y[0].swapaxes(0, 1)
