"""Causal attention whose scores fall with the distance, by a slope for each head (ALiBi)."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task, uniform
from metalbench.task.attention import PREFILL_SIZES, attend, draw_prefill_size, prefill_inputs


def falling(module, slope, tokens):
    """What is added to the scores (heads, queries, keys)."""
    at = module.arange(tokens)
    return slope[:, None, None] * (at - at[:, None])


@task(
    sizes=PREFILL_SIZES,
    gpu_headlines=("large",),
    inputs=dict(**prefill_inputs(), slope=uniform("heads", low=0.05, high=0.5)),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    oracle=lambda q, k, v, slope: attend(
        q, k, v, seen=np.tri(q.shape[1]) > 0, bias=falling(np, slope, q.shape[1])
    ),
    scale=lambda q, k, v, slope: attend(
        q, k, v, seen=np.tri(q.shape[1]) > 0, bias=falling(np, slope, q.shape[1]), sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_alibi(q, k, v, slope):
    scale = 1 / math.sqrt(q.shape[-1])
    at = mx.arange(q.shape[1])
    mask = mx.where(at <= at[:, None], falling(mx, slope, len(at)), -math.inf).astype(q.dtype)
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0]
