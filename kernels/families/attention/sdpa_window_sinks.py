"""Causal attention to the last 128 tokens, with a logit for each head that has no value."""

import math

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    PREFILL_SIZES,
    attend,
    draw_prefill_size,
    prefill_inputs,
    see_window,
)


@task(
    sizes=dict(
        PREFILL_SIZES,
        odd3=dict(heads=4, kv_heads=1, tokens=201, dims=64),
        large=dict(heads=64, kv_heads=8, tokens=4096, dims=64),
    ),
    gpu_headlines=("large",),
    inputs=dict(**prefill_inputs(), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    constants=dict(width=128),
    oracle=lambda q, k, v, sinks, width: attend(
        q, k, v, seen=see_window(q.shape[1], width), sinks=sinks
    ),
    scale=lambda q, k, v, sinks, width: attend(
        q, k, v, seen=see_window(q.shape[1], width), sinks=sinks, sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * tokens * min(tokens, 128) * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=, sinks=)",
)
def sdpa_window_sinks(q, k, v, sinks, width):
    scale = 1 / math.sqrt(q.shape[-1])
    at = mx.arange(q.shape[1])
    behind = at[:, None] - at
    mask = (behind >= 0) & (behind < width)
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask, sinks=sinks)[0]
