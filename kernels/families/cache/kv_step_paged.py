"""A step of decoding of several texts: new keys and values into pages, and attention up to them."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, distinct, even, integers, normal, output, sparse, task
from metalbench.task.attention import attention_weights, mix_values

PAGES = ("texts * most", "kv_heads", "page", "dims")
NEW = ("texts", "kv_heads", "dims")
GENTLE = (even(), coarse(), sparse())


def gathered(pages, table):
    """The keys (texts, kv_heads, most * page, dims) of pages."""
    rows = pages[table].swapaxes(1, 2)
    return rows.reshape(*rows.shape[:2], -1, rows.shape[-1])


def placed(pages, new, table, before, page):
    """The pages with each text's new row behind those that it has."""
    pages[table[np.arange(len(new)), before // page], :, before % page] = new
    return pages


def stepped(q, k, v, k_new, v_new, table, before, page):
    """The output text by text, and both caches."""
    table, before = table.astype(np.int64), before.astype(np.int64)
    k = placed(k.copy(), k_new, table, before, page)
    v = placed(v.copy(), v_new, table, before, page)
    texts = zip(q, gathered(k, table), gathered(v, table), before + 1, strict=True)
    y = [mix_values(attention_weights(q, k[:, :n]), v[:, :n]) for q, k, v, n in texts]
    return np.stack(y), k, v


def magnitude(q, k, v, k_new, v_new, table, before, page):
    """Sums of absolute terms."""
    y, k_all, v_all = stepped(q, k, np.abs(v), k_new, np.abs(v_new), table, before, page)
    return y, np.abs(k_all), v_all


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
        v=normal(*PAGES).only(*GENTLE),
        k_new=normal(*NEW).only(*GENTLE),
        v_new=normal(*NEW).only(*GENTLE),
        table=distinct("texts", "most", below="texts * most"),
        before=integers("texts", low=0, high="most * page"),
    ),
    outputs=dict(y=output("texts", "heads", "dims"), y_k=output(*PAGES), y_v=output(*PAGES)),
    constants=dict(page=16),
    draw=lambda random: dict(
        texts=int(random.integers(1, 5)),
        heads=4 * int(random.integers(1, 4)),
        kv_heads=int(2 ** random.integers(0, 3)),
        most=int(random.integers(3, 33)),
        dims=int(random.integers(8, 129)),
    ),
    oracle=stepped,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    # As if the pages were full.
    flops="4 * texts * heads * most * page * dims",
    bytes="itemsize * dims * texts * (2 * heads + kv_heads * (4 * most * page + 2))",
    inout=dict(k="y_k", v="y_v"),
    inout_bytes="itemsize * dims * texts * (2 * heads + kv_heads * (2 * most * page + 4))",
    baseline="pages[table], mx.fast.scaled_dot_product_attention(mask=)",
)
def kv_step_paged(q, k, v, k_new, v_new, table, before, page):
    at = table[mx.arange(len(q)), before // page]
    k, v = mx.array(k), mx.array(v)
    k[at, :, before % page] = k_new
    v[at, :, before % page] = v_new
    keys, values = gathered(k, table), gathered(v, table)
    mask = (mx.arange(keys.shape[2]) <= before[:, None])[:, None, None]
    y = mx.fast.scaled_dot_product_attention(
        q[:, :, None], keys, values, scale=1 / math.sqrt(q.shape[-1]), mask=mask
    )
    return y[:, :, 0], k, v
