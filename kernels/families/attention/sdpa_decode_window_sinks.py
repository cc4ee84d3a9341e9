"""Attention of one query a head over the last 128 keys, with a logit that has no value."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    DECODING_SIZES,
    attention_weights,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)


@task(
    sizes=dict(DECODING_SIZES, large=dict(heads=64, kv_heads=8, keys=32768, dims=64)),
    gpu_headlines=("large",),
    inputs=dict(**decoding_inputs(), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    constants=dict(width=128),
    oracle=lambda q, k, v, sinks, width: mix_values(
        attention_weights(q, k[:, -width:], sinks), v[:, -width:]
    ),
    scale=lambda q, k, v, sinks, width: mix_values(
        attention_weights(q, k[:, -width:], sinks), np.abs(v[:, -width:])
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * min(keys, 128) * dims",
    bytes="itemsize * dims * (2 * heads + 2 * kv_heads * min(keys, 128))",
    baseline="mx.fast.scaled_dot_product_attention(sinks=)",
)
def sdpa_decode_window_sinks(q, k, v, sinks, width):
    scale = 1 / math.sqrt(q.shape[-1])
    k, v = (each[None, :, -width:] for each in (k, v))
    y = mx.fast.scaled_dot_product_attention(q[None, :, None], k, v, scale=scale, sinks=sinks)
    return y[0, :, 0]
