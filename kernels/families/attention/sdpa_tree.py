"""Attention of proposed tokens that form a tree: each sees the text and what it goes on from."""

import math

import mlx.core as mx
import numpy as np

from metalbench.expression import parse
from metalbench.task import Input, normal, output, task
from metalbench.task.attention import GENTLE_VARIATIONS, attend
from metalbench.task.dtypes import dtype

ROWS = ("kv_heads", "before + tokens", "dims")


def ancestors(random, shape, _):
    """Whether a token (column) is another's (row) ancestor or itself; each goes on from any."""
    mask = np.eye(shape[0], dtype=bool)
    for token in range(1, shape[0]):
        mask[token] |= mask[random.integers(max(0, token - 5), token)]
    return mask


def seen(module, mask, keys):
    """The mask of all keys: the text before is seen by all."""
    text = module.ones((len(mask), keys - len(mask)), dtype=module.bool_)
    return module.concatenate([text, mask.astype(module.bool_)], axis=1)


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=8, before=21, dims=32),
        odd1=dict(heads=3, kv_heads=1, tokens=37, before=5, dims=80),
        odd2=dict(heads=2, kv_heads=2, tokens=17, before=130, dims=72),
        seed=dict(heads=8, kv_heads=2, tokens=32, before=500, dims=128),
        large=dict(heads=32, kv_heads=8, tokens=64, before=16384, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
        k=normal(*ROWS).only(*GENTLE_VARIATIONS),
        v=normal(*ROWS),
        mask=Input((parse("tokens"),) * 2, dtype("bool"), "ancestors in a tree", ancestors),
    ),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=lambda random: dict(
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(2, 65)),
        before=int(random.integers(1, 513)),
        dims=8 * int(random.integers(4, 17)),
    ),
    oracle=lambda q, k, v, mask: attend(q, k, v, seen=seen(np, mask, k.shape[1])),
    scale=lambda q, k, v, mask: attend(q, k, v, seen=seen(np, mask, k.shape[1]), sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * (before + tokens) * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_tree(q, k, v, mask):
    scale = 1 / math.sqrt(q.shape[-1])
    mask = seen(mx, mask, k.shape[1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0]
