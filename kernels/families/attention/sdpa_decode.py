"""Attention of one query a head over a cache that heads share."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.attention import (
    DECODING_FLOPS,
    DECODING_SIZES,
    attention_weights,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)


@task(
    sizes=dict(
        DECODING_SIZES,
        odd3=dict(heads=4, kv_heads=2, keys=45, dims=300),
        dims512=dict(heads=8, kv_heads=4, keys=4096, dims=512),
    ),
    gpu_headlines=("large",),
    inputs=decoding_inputs(),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    oracle=lambda q, k, v: mix_values(attention_weights(q, k), v),
    scale=lambda q, k, v: mix_values(attention_weights(q, k), np.abs(v)),
    dtypes=("float32", "float16", "bfloat16"),
    flops=DECODING_FLOPS,
    baseline="mx.fast.scaled_dot_product_attention",
)
def sdpa_decode(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    y = mx.fast.scaled_dot_product_attention(q[None, :, None], k[None], v[None], scale=scale)
    return y[0, :, 0]
