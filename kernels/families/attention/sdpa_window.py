"""Causal attention to the last 64 tokens only: a sliding window."""

import math

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.attention import (
    PREFILL_SIZES,
    attend,
    draw_prefill_size,
    prefill_inputs,
    see_window,
)


@task(
    sizes=PREFILL_SIZES,
    gpu_headlines=("large",),
    inputs=prefill_inputs(),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    constants=dict(width=64),
    oracle=lambda q, k, v, width: attend(q, k, v, seen=see_window(q.shape[1], width)),
    scale=lambda q, k, v, width: attend(q, k, v, seen=see_window(q.shape[1], width), sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * min(tokens, 64) * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_window(q, k, v, width):
    scale = 1 / math.sqrt(q.shape[-1])
    at = mx.arange(q.shape[1])
    behind = at[:, None] - at
    mask = (behind >= 0) & (behind < width)
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0]
