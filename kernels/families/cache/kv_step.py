"""A step of decoding: a new key and value into their caches, and attention up to them."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, integers, normal, output, sparse, task
from metalbench.task.attention import attention_weights, mix_values

CACHE = ("kv_heads", "length", "dims")
GENTLE = (even(), coarse(), sparse())


def updated(cache, new, position):
    """The cache with the new row of every head."""
    cache[:, position] = new
    return cache


def stepped(q, k, v, k_new, v_new, position):
    """The output, and both caches."""
    at = int(position[0])
    k, v = updated(k.copy(), k_new, at), updated(v.copy(), v_new, at)
    return mix_values(attention_weights(q, k[:, : at + 1]), v[:, : at + 1]), k, v


def magnitude(q, k, v, k_new, v_new, position):
    """Sums of absolute terms."""
    y, k_all, v_all = stepped(q, k, np.abs(v), k_new, np.abs(v_new), position)
    return y, np.abs(k_all), v_all


@task(
    sizes=dict(
        small=dict(heads=4, kv_heads=2, length=37, dims=32),
        odd1=dict(heads=3, kv_heads=3, length=53, dims=81),
        odd2=dict(heads=5, kv_heads=1, length=130, dims=256),
        seed=dict(heads=32, kv_heads=8, length=1024, dims=128),
        large=dict(heads=32, kv_heads=8, length=32768, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("heads", "dims").only(*GENTLE),
        k=normal(*CACHE).only(*GENTLE),
        v=normal(*CACHE).only(*GENTLE),
        k_new=normal("kv_heads", "dims").only(*GENTLE),
        v_new=normal("kv_heads", "dims").only(*GENTLE),
        position=integers(1, low="length / 2", high="length"),
    ),
    outputs=dict(y=output("heads", "dims"), y_k=output(*CACHE), y_v=output(*CACHE)),
    draw=lambda random: dict(
        heads=4 * int(random.integers(1, 5)),
        kv_heads=int(2 ** random.integers(0, 3)),
        length=int(random.integers(20, 1025)),
        dims=int(random.integers(8, 129)),
    ),
    oracle=stepped,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    # As if the caches were full.
    flops="4 * heads * length * dims",
    bytes="itemsize * dims * (2 * heads + kv_heads * (4 * length + 2)) + 4",
    inout=dict(k="y_k", v="y_v"),
    inout_bytes="itemsize * dims * (2 * heads + kv_heads * (2 * length + 4)) + 4",
    baseline="k[:, position] = k_new, mx.fast.scaled_dot_product_attention(mask=)",
)
def kv_step(q, k, v, k_new, v_new, position):
    k, v = (
        updated(mx.array(each), new[:, None], position) for each, new in ((k, k_new), (v, v_new))
    )
    y = mx.fast.scaled_dot_product_attention(
        q[None, :, None],
        k[None],
        v[None],
        scale=1 / math.sqrt(q.shape[-1]),
        mask=mx.arange(k.shape[1])[None] <= position,
    )
    return y[0, :, 0], k, v
