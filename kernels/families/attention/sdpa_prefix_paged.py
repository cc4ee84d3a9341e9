"""Causal attention of new tokens of several texts over caches in pages of what came before."""

import mlx.core as mx
import numpy as np

from metalbench.task import distinct, integers, normal, output, task
from metalbench.task.attention import GENTLE_VARIATIONS
from metalbench.task.packed_texts import attend_texts, attend_texts_with_mlx, text_starts

PAGES = ("texts * most", "kv_heads", "page", "dims")


def gathered(pages, table):
    """Rows (texts, most * page, kv_heads, dims) of the pages that a table names."""
    rows = pages[table].swapaxes(2, 3)
    return rows.reshape(len(rows), -1, *rows.shape[3:])


def result(q, k, v, table, starts, before, sizes=False):
    """The texts' keys one behind the other, each as far as it goes."""
    at = table.astype(np.int64)
    counts = (before + np.diff(starts)).astype(int)
    k, v = (
        np.concatenate([rows[:n] for rows, n in zip(gathered(each, at), counts, strict=True)])
        for each in (k, v)
    )
    return attend_texts(q, k, v, starts, np.concatenate([[0], np.cumsum(counts)]), sizes=sizes)


@task(
    sizes=dict(
        small=dict(texts=2, heads=4, kv_heads=2, tokens=9, most=3, dims=32),
        odd1=dict(texts=3, heads=3, kv_heads=1, tokens=37, most=5, dims=81),
        odd2=dict(texts=1, heads=2, kv_heads=2, tokens=40, most=7, dims=128),
        seed=dict(texts=4, heads=8, kv_heads=2, tokens=64, most=16, dims=128),
        large=dict(texts=8, heads=32, kv_heads=8, tokens=2048, most=256, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("tokens", "heads", "dims").only(*GENTLE_VARIATIONS),
        k=normal(*PAGES).only(*GENTLE_VARIATIONS),
        v=normal(*PAGES),
        table=distinct("texts", "most", below="texts * most"),
        starts=text_starts(),
        before=integers("texts", low=0, high="most * page - tokens + 1"),
    ),
    outputs=dict(y=output("tokens", "heads", "dims")),
    constants=dict(page=16),
    draw=lambda random: dict(
        texts=int(random.integers(1, 5)),
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(4, 65)),
        most=int(random.integers(4, 17)),
        dims=int(random.integers(8, 129)),
    ),
    oracle=lambda q, k, v, table, starts, before, page: result(q, k, v, table, starts, before),
    scale=lambda q, k, v, table, starts, before, page: result(
        q, k, v, table, starts, before, sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    # Of texts that have half of their pages before their new tokens.
    flops="2 * heads * tokens * most * page * dims",
    bytes="itemsize * dims * (2 * heads * tokens + kv_heads * texts * most * page)",
    baseline="pages[table], mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_prefix_paged(q, k, v, table, starts, before, page):
    k, v = (gathered(each, table).flatten(0, 1) for each in (k, v))
    at = mx.arange(len(q))
    text = (at[:, None] >= starts[1:]).sum(axis=-1)
    last = at - starts[text] + before[text]  # the last key that a query sees, in its text
    row = mx.arange(len(k))
    capacity = len(k) // len(table)
    mask = (row // capacity == text[:, None]) & (row % capacity <= last[:, None])
    return attend_texts_with_mlx(q, k, v, mask)
