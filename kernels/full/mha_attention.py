"""Multi-head self-attention with its four projections."""

import math

import mlx.core as mx

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import attention

# Weights far from zero would make the attention all but choose a token: no kernel agrees then.
GENTLE = (even(), coarse(), sparse())


def multi_head(x, w_q, w_k, w_v, w_out, heads):
    """`x` (tokens, dims), weights (dims, dims); head i is the i-th block of columns."""
    tokens, dims = x.shape
    q, k, v = (
        (x @ w).reshape(tokens, heads, dims // heads).transpose(1, 0, 2) for w in (w_q, w_k, w_v)
    )
    mixed = attention(q, k, v)
    return mixed.transpose(1, 0, 2).reshape(tokens, dims) @ w_out


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32),
        odd1=dict(tokens=37, dims=44),
        odd2=dict(tokens=65, dims=100),
        seed=dict(tokens=32, dims=128),
        large=dict(tokens=1024, dims=512),
        huge=dict(tokens=4096, dims=512),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("tokens", "dims").only(*GENTLE),
        w_q=normal("dims", "dims", deviation=0.08).only(*GENTLE),
        w_k=normal("dims", "dims", deviation=0.08).only(*GENTLE),
        w_v=normal("dims", "dims", deviation=0.08).only(*GENTLE),
        w_out=normal("dims", "dims", deviation=0.08).only(*GENTLE),
    ),
    outputs=dict(y=output("tokens", "dims")),
    multiples=dict(dims=4),
    constants=dict(heads=4),
    oracle=multi_head,
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * tokens * dims * dims + 4 * tokens * tokens * dims",
    baseline="matmul, mx.fast.scaled_dot_product_attention",
)
def mha_attention(x, w_q, w_k, w_v, w_out, heads):
    tokens, dims = x.shape
    q, k, v = (
        (x @ w).reshape(1, tokens, heads, dims // heads).transpose(0, 2, 1, 3)
        for w in (w_q, w_k, w_v)
    )
    mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(dims // heads))
    return mixed.transpose(0, 2, 1, 3).reshape(tokens, dims) @ w_out
