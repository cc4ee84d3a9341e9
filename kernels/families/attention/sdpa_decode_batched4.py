"""Attention of four queries a head, all of which see a whole cache: tokens that are proposed."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.attention import (
    DECODING_SIZES,
    attention_weights,
    decoding_inputs,
    draw_decoding_size,
    mix_values,
)


def result(q, k, v):
    """The queries of a head follow each other, and share its keys as heads do."""
    return mix_values(attention_weights(q.reshape(-1, q.shape[-1]), k), v).reshape(q.shape)


@task(
    sizes=DECODING_SIZES,
    gpu_headlines=("large",),
    inputs=dict(
        decoding_inputs(), q=normal("heads", "queries", "dims").only(even(), coarse(), sparse())
    ),
    outputs=dict(y=output("heads", "queries", "dims")),
    constants=dict(spare=0, queries=4),
    draw=draw_decoding_size,
    oracle=lambda q, k, v, spare, queries: result(q, k, v),
    scale=lambda q, k, v, spare, queries: result(q, k, np.abs(v)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="queries * (4 * heads * keys * dims + 5 * heads * keys)",
    baseline="mx.fast.scaled_dot_product_attention",
)
def sdpa_decode_batched4(q, k, v, spare, queries):
    scale = 1 / math.sqrt(q.shape[-1])
    return mx.fast.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0]
