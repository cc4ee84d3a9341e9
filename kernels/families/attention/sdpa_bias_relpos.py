"""Attention with a bias for each distance from query to key, learnt for each head."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    GENTLE_VARIATIONS,
    PREFILL_SIZES,
    attend,
    draw_prefill_size,
    prefill_inputs,
)


def by_place(module, bias, tokens):
    """The bias (heads, queries, keys) of distances from -(tokens - 1) on."""
    at = module.arange(tokens)
    return bias[:, at - at[:, None] + tokens - 1]


@task(
    sizes=PREFILL_SIZES,
    gpu_headlines=("large",),
    inputs=dict(
        **prefill_inputs(), bias=normal("heads", "2 * tokens - 1").only(*GENTLE_VARIATIONS)
    ),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    oracle=lambda q, k, v, bias: attend(q, k, v, bias=by_place(np, bias, q.shape[1])),
    scale=lambda q, k, v, bias: attend(q, k, v, bias=by_place(np, bias, q.shape[1]), sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=bias[:, j - i])",
)
def sdpa_bias_relpos(q, k, v, bias):
    scale = 1 / math.sqrt(q.shape[-1])
    mask = by_place(mx, bias, q.shape[1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0]
