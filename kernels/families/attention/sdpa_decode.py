"""Attention of one query a head over a cache that heads share."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import output, task
from metalbench.task.decoding import FLOPS, SIZES, drawn, inputs, mixed, weights


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=inputs(),
    outputs=dict(y=output("heads", "dims")),
    draw=drawn,
    oracle=lambda q, k, v: mixed(weights(q, k), v),
    scale=lambda q, k, v: mixed(weights(q, k), np.abs(v)),
    dtypes=("float32", "float16", "bfloat16"),
    flops=FLOPS,
    baseline="mx.fast.scaled_dot_product_attention",
)
def sdpa_decode(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    y = mx.fast.scaled_dot_product_attention(q[None, :, None], k[None], v[None], scale=scale)
    return y[0, :, 0]
