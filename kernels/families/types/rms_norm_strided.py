"""Root-mean-square norms of the query heads of a packed projection, as a view of it."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


def norm(qkv, w, heads, eps):
    q = qkv[:, :heads]
    return q / np.sqrt((q * q).mean(axis=-1, keepdims=True) + eps) * w


@task(
    sizes=dict(
        small=dict(tokens=5, kv_heads=2, dims=64),
        odd1=dict(tokens=3, kv_heads=1, dims=37),
        odd2=dict(tokens=7, kv_heads=3, dims=130),
        seed=dict(tokens=256, kv_heads=2, dims=128),
        large=dict(tokens=8192, kv_heads=8, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(qkv=normal("tokens", "heads + 2 * kv_heads", "dims"), w=normal("dims", mean=1.0)),
    outputs=dict(y=output("tokens", "heads", "dims")),
    constants=dict(heads=8, eps=1e-6),
    oracle=norm,
    dtypes=FLOATING,
    flops="4 * tokens * heads * dims",
    bytes="itemsize * (2 * tokens * heads * dims + dims)",
    baseline="mx.fast.rms_norm",
)
def rms_norm_strided(qkv, w, heads, eps):
    return mx.fast.rms_norm(qkv[:, :heads], w, eps)
