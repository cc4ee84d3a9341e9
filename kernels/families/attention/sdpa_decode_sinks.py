"""Attention of one query a head over a cache, with a logit for each head that has no value."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.decoding import FLOPS, SIZES, drawn, inputs, mixed, weights


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=dict(**inputs(), sinks=normal("heads", mean=3.0).only()),
    outputs=dict(y=output("heads", "dims")),
    draw=drawn,
    oracle=lambda q, k, v, sinks: mixed(weights(q, k, sinks), v),
    scale=lambda q, k, v, sinks: mixed(weights(q, k, sinks), np.abs(v)),
    dtypes=("float32", "float16", "bfloat16"),
    flops=FLOPS,
    baseline="mx.fast.scaled_dot_product_attention(sinks=)",
)
def sdpa_decode_sinks(q, k, v, sinks):
    scale = 1 / math.sqrt(q.shape[-1])
    y = mx.fast.scaled_dot_product_attention(
        q[None, :, None], k[None], v[None], scale=scale, sinks=sinks
    )
    return y[0, :, 0]
