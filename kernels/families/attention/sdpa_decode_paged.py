"""Attention of one query a head over caches in pages of 16 keys, of several texts."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, distinct, even, integers, normal, output, sparse, task
from metalbench.task.attention import attention_weights, mix_values

PAGES = ("texts * most", "kv_heads", "page", "dims")
GENTLE = (even(), coarse(), sparse())


def gathered(pages, table):
    """The keys (texts, kv_heads, most * page, dims) of pages."""
    rows = pages[table].swapaxes(1, 2)
    return rows.reshape(*rows.shape[:2], -1, rows.shape[-1])


def result(q, k, v, table, keys):
    """Text by text."""
    at = table.astype(np.int64)
    texts = zip(q, gathered(k, at), gathered(v, at), keys.astype(int), strict=True)
    return np.stack([mix_values(attention_weights(q, k[:, :n]), v[:, :n]) for q, k, v, n in texts])


@task(
    sizes=dict(
        small=dict(texts=2, heads=4, kv_heads=2, most=3, dims=32),
        odd1=dict(texts=3, heads=3, kv_heads=1, most=5, dims=81),
        odd2=dict(texts=1, heads=10, kv_heads=2, most=7, dims=256),
        seed=dict(texts=4, heads=16, kv_heads=4, most=32, dims=128),
        large=dict(texts=16, heads=32, kv_heads=8, most=256, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("texts", "heads", "dims").only(*GENTLE),
        k=normal(*PAGES).only(*GENTLE),
        v=normal(*PAGES),
        table=distinct("texts", "most", below="texts * most"),
        keys=integers("texts", low=1, high="most * page + 1"),
    ),
    outputs=dict(y=output("texts", "heads", "dims")),
    constants=dict(page=16),
    draw=lambda random: dict(
        texts=int(random.integers(1, 5)),
        heads=4 * int(random.integers(1, 4)),
        kv_heads=int(2 ** random.integers(0, 3)),
        most=int(random.integers(3, 33)),
        dims=int(random.integers(8, 129)),
    ),
    oracle=lambda q, k, v, table, keys, page: result(q, k, v, table, keys),
    scale=lambda q, k, v, table, keys, page: result(q, k, np.abs(v), table, keys),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * texts * heads * most * page * dims",
    baseline="pages[table], mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_decode_paged(q, k, v, table, keys, page):
    scale = 1 / math.sqrt(q.shape[-1])
    k, v = gathered(k, table), gathered(v, table)
    mask = (mx.arange(k.shape[2]) < keys[:, None])[:, None, None]
    return mx.fast.scaled_dot_product_attention(q[:, :, None], k, v, scale=scale, mask=mask)[
        :, :, 0
    ]
