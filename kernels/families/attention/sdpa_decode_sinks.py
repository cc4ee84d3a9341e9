"""Attention of one query a head over a cache, with a logit for each head that has no value."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    DECODING_FLOPS,
    DECODING_SIZES,
    attention_weights,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)


@task(
    sizes=DECODING_SIZES,
    gpu_headlines=("large",),
    inputs=dict(**decoding_inputs(), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    oracle=lambda q, k, v, sinks: mix_values(attention_weights(q, k, sinks), v),
    scale=lambda q, k, v, sinks: mix_values(attention_weights(q, k, sinks), np.abs(v)),
    dtypes=("float32", "float16", "bfloat16"),
    flops=DECODING_FLOPS,
    baseline="mx.fast.scaled_dot_product_attention(sinks=)",
)
def sdpa_decode_sinks(q, k, v, sinks):
    scale = 1 / math.sqrt(q.shape[-1])
    y = mx.fast.scaled_dot_product_attention(
        q[None, :, None], k[None], v[None], scale=scale, sinks=sinks
    )
    return y[0, :, 0]
