"""Causal attention whose keys are wider than its values, as in latent attention: 192 and 128."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import GENTLE_VARIATIONS, attend


@task(
    sizes=dict(
        small=dict(heads=2, tokens=16, dims=48, value_dims=32),
        odd1=dict(heads=1, tokens=37, dims=192, value_dims=128),
        odd2=dict(heads=3, tokens=101, dims=96, value_dims=104),
        seed=dict(heads=4, tokens=256, dims=192, value_dims=128),
        large=dict(heads=16, tokens=2048, dims=192, value_dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
        k=normal("heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
        v=normal("heads", "tokens", "value_dims"),
    ),
    outputs=dict(y=output("heads", "tokens", "value_dims")),
    multiples=dict(dims=8, value_dims=8),
    oracle=lambda q, k, v: attend(q, k, v, seen=np.tri(q.shape[1]) > 0),
    scale=lambda q, k, v: attend(q, k, v, seen=np.tri(q.shape[1]) > 0, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="heads * tokens * tokens * (dims + value_dims)",
    baseline="mx.fast.scaled_dot_product_attention(mask='causal')",
)
def mla_prefill(q, k, v):
    scale = 1 / math.sqrt(q.shape[-1])
    heads = (each[None] for each in (q, k, v))
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask="causal")[0]
