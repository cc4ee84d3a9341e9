"""Queries, keys and values by one product: x W_qkv."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32, columns=48),
        odd1=dict(tokens=37, dims=65, columns=27),
        odd2=dict(tokens=5, dims=129, columns=66),
        seed=dict(tokens=128, dims=512, columns=192),
        large=dict(tokens=1024, dims=1024, columns=3072),
        huge=dict(tokens=4096, dims=1024, columns=3072),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("tokens", "dims"),
        w_qkv=normal("dims", "columns"),
    ),
    outputs=dict(qkv=output("tokens", "columns")),
    oracle=lambda x, w_qkv: x @ w_qkv,
    scale=lambda x, w_qkv: np.abs(x) @ np.abs(w_qkv),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * tokens * dims * columns",
    baseline="mx.matmul",
    torch=lambda torch, x, w_qkv: torch.matmul(x, w_qkv),
)
def fused_qkv_projection(x, w_qkv):
    return mx.matmul(x, w_qkv)
