"""Attention of a llama layer: grouped queries, rotary positions, causal, output projection."""

import math

import mlx.core as mx

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import gqa_layer, gqa_layer_magnitude

# Weights far from zero would make the attention all but choose a token: no kernel agrees then.
GENTLE = (even(), coarse(), sparse())


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32),
        odd1=dict(tokens=37, dims=40),
        odd2=dict(tokens=65, dims=72),
        seed=dict(tokens=64, dims=128),
        large=dict(tokens=2048, dims=512),
        huge=dict(tokens=4096, dims=512),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("tokens", "dims").only(*GENTLE),
        w_qkv=normal("dims", "2 * dims", deviation=0.08).only(*GENTLE),
        w_out=normal("dims", "dims", deviation=0.08).only(*GENTLE),
    ),
    outputs=dict(y=output("tokens", "dims")),
    multiples=dict(dims=8),
    constants=dict(heads=4, kv_heads=2, base=10000.0),
    oracle=lambda x, w_qkv, w_out, heads, kv_heads, base: gqa_layer(
        x, w_qkv, w_out, heads=heads, kv_heads=kv_heads, base=base
    ),
    scale=lambda x, w_qkv, w_out, heads, kv_heads, base: gqa_layer_magnitude(
        x, w_qkv, w_out, heads=heads, kv_heads=kv_heads, base=base
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * tokens * dims * dims + 2 * tokens * tokens * dims",
    baseline="matmul, mx.fast.rope, mx.fast.scaled_dot_product_attention",
)
def llama_attention(x, w_qkv, w_out, heads, kv_heads, base):
    tokens, dims = x.shape
    width = dims // heads
    split = (x @ w_qkv).reshape(1, tokens, heads + 2 * kv_heads, width).transpose(0, 2, 1, 3)
    q, k, v = mx.split(split, [heads, heads + kv_heads], axis=1)
    q = mx.fast.rope(q, width, traditional=True, base=base, scale=1.0, offset=0)
    k = mx.fast.rope(k, width, traditional=True, base=base, scale=1.0, offset=0)
    mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(width), mask="causal")
    return mixed.transpose(0, 2, 1, 3).reshape(tokens, dims) @ w_out
