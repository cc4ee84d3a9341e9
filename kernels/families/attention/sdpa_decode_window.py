"""Attention of one query a head over the first 4 and the last 128 keys of a cache."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.attention import (
    DECODING_SIZES,
    attention_weights,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)

FIRST, LAST = 4, 128


def windowed(module, rows):
    """The rows of a cache that are attended to."""
    start = max(0, rows.shape[1] - LAST)
    return module.concatenate([rows[:, : min(FIRST, start)], rows[:, start:]], axis=1)


def result(q, k, v, values):
    """Attention over the rows of the window."""
    return mix_values(attention_weights(q, windowed(np, k)), values(windowed(np, v)))


@task(
    sizes=DECODING_SIZES,
    gpu_headlines=("large",),
    inputs=decoding_inputs(),
    outputs=dict(y=output("heads", "dims")),
    draw=draw_decoding_size,
    oracle=lambda q, k, v: result(q, k, v, lambda rows: rows),
    scale=lambda q, k, v: result(q, k, v, np.abs),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * heads * min(keys, 132) * dims + 5 * heads * min(keys, 132)",
    bytes="itemsize * dims * (2 * heads + 2 * kv_heads * min(keys, 132))",
    baseline="concatenate, mx.fast.scaled_dot_product_attention",
)
def sdpa_decode_window(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    k, v = (windowed(mx, each)[None] for each in (k, v))
    return mx.fast.scaled_dot_product_attention(q[None, :, None], k, v, scale=scale)[0, :, 0]
