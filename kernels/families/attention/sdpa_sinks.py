"""Causal attention with a logit for each head that has no value."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import PREFILL_SIZES, attend, draw_prefill_size, prefill_inputs


@task(
    sizes=PREFILL_SIZES,
    gpu_headlines=("large",),
    inputs=dict(**prefill_inputs(), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "tokens", "dims")),
    draw=draw_prefill_size,
    oracle=lambda q, k, v, sinks: attend(q, k, v, seen=np.tri(q.shape[1]) > 0, sinks=sinks),
    scale=lambda q, k, v, sinks: attend(
        q, k, v, seen=np.tri(q.shape[1]) > 0, sinks=sinks, sizes=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * heads * tokens * tokens * dims",
    baseline="mx.fast.scaled_dot_product_attention(mask='causal', sinks=)",
)
def sdpa_sinks(q, k, v, sinks):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask="causal", sinks=sinks)[0]
