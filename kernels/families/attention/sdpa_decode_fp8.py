"""Attention of one query a head over a cache of E4M3, with a scale for the keys of each head."""

import math

import mlx.core as mx
import numpy as np

from metalbench.formats.caches import FLOPS
from metalbench.formats.encodings import E4M3
from metalbench.formats.inputs import fp8
from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.attention import attention_weights, mix_values

CACHE = ("kv_heads", "keys", "dims")
GENTLE = (even(), coarse(), sparse())


def plain(codes, scales):
    """What codes stand for."""
    return E4M3[codes].astype(np.float64) * scales[:, None, None]


def attended(q, k, k_scales, v, v_scales):
    return mix_values(attention_weights(q, plain(k, k_scales)), plain(v, v_scales))


def magnitude(q, k, k_scales, v, v_scales):
    """Sums of absolute terms."""
    return mix_values(attention_weights(q, plain(k, k_scales)), np.abs(plain(v, v_scales)))


def drawn(random):
    """A size whose heads share keys evenly, of whole words."""
    kv_heads = int(random.integers(1, 5))
    return dict(
        heads=kv_heads * int(random.integers(1, 6)),
        kv_heads=kv_heads,
        keys=int(random.integers(20, 1025)),
        dims=4 * int(random.integers(4, 33)),
    )


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, keys=37, dims=64),
        odd1=dict(heads=3, kv_heads=1, keys=53, dims=84),
        odd2=dict(heads=5, kv_heads=1, keys=130, dims=256),
        seed=dict(heads=32, kv_heads=8, keys=1024, dims=128),
        large=dict(heads=32, kv_heads=8, keys=32768, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("heads", "dims").only(*GENTLE),
        **fp8(*CACHE, name="k", plain=normal(*CACHE).only(*GENTLE)),
        **fp8(*CACHE, name="v", plain=normal(*CACHE).only(*GENTLE)),
    ),
    outputs=dict(y=output("heads", "dims")),
    draw=drawn,
    oracle=attended,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops=FLOPS,
    baseline="mx.from_fp8, mx.fast.scaled_dot_product_attention",
)
def sdpa_decode_fp8(q, k, k_scales, v, v_scales):
    keys = mx.from_fp8(k, q.dtype) * k_scales[:, None, None]
    values = mx.from_fp8(v, q.dtype) * v_scales[:, None, None]
    y = mx.fast.scaled_dot_product_attention(
        q[None, :, None], keys[None], values[None], scale=1 / math.sqrt(q.shape[-1])
    )
    return y[0, :, 0]
