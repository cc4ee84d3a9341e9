"""Attention of one query a head over a long cache, of which 77 rows are not filled yet."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.attention import (
    DECODING_FLOPS,
    DECODING_SIZES,
    attention_weights,
    cache,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)

ROWS = ("kv_heads", "keys + spare", "dims")


def filled(rows, spare):
    """The rows that are there."""
    return rows[:, : rows.shape[1] - spare]


@task(
    sizes=dict(
        DECODING_SIZES,
        odd3=dict(heads=4, kv_heads=2, keys=45, dims=300),
        dims512=dict(heads=8, kv_heads=4, keys=4096, dims=512),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=decoding_inputs()["q"],
        k=cache(*ROWS, filled="keys", variations=decoding_inputs()["k"].variations),
        v=cache(*ROWS, filled="keys", variations=decoding_inputs()["v"].variations),
    ),
    outputs=dict(y=output("heads", "dims")),
    constants=dict(spare=77, queries=1),
    draw=draw_decoding_size,
    oracle=lambda q, k, v, spare, queries: mix_values(
        attention_weights(q, filled(k, spare)), filled(v, spare)
    ),
    scale=lambda q, k, v, spare, queries: mix_values(
        attention_weights(q, filled(k, spare)), np.abs(filled(v, spare))
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops=DECODING_FLOPS,
    bytes="itemsize * dims * (2 * heads + 2 * kv_heads * keys)",
    baseline="mx.fast.scaled_dot_product_attention",
)
def sdpa_decode_2pass(q, k, v, spare, queries):
    scale = 1 / math.sqrt(q.shape[-1])
    k, v = (filled(each, spare)[None] for each in (k, v))
    return mx.fast.scaled_dot_product_attention(q[None, :, None], k, v, scale=scale)[0, :, 0]
