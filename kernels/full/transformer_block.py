"""Pre-norm transformer block: x + attention(norm x), then x + feed_forward(norm x)."""

import math

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import attention

# Weights far from zero would make the attention all but choose a token: no kernel agrees then.
GENTLE = (even(), coarse(), sparse())


def standardised(x, eps):
    """Layer normalisation without scale and shift."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + eps)


def multi_head(x, w_qkv, w_out, heads):
    """Multi-head self-attention without a mask; head i is the i-th block of columns."""
    tokens, dims = x.shape
    q, k, v = (x @ w_qkv).reshape(tokens, 3, heads, dims // heads).transpose(1, 2, 0, 3)
    mixed = attention(q, k, v)
    return mixed.transpose(1, 0, 2).reshape(tokens, dims) @ w_out


def block(x, w_qkv, w_out, w_up, w_down, heads, eps):
    """The whole block in numpy."""
    x = x + multi_head(standardised(x, eps), w_qkv, w_out, heads)
    hidden = standardised(x, eps) @ w_up
    return x + (hidden * scipy.special.ndtr(hidden)) @ w_down


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32, hidden=64),
        odd1=dict(tokens=37, dims=48, hidden=100),
        odd2=dict(tokens=65, dims=64, hidden=130),
        seed=dict(tokens=64, dims=128, hidden=256),
        large=dict(tokens=640, dims=512, hidden=2048),
        huge=dict(tokens=2560, dims=512, hidden=2048),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("tokens", "dims"),
        w_qkv=normal("dims", "3 * dims", deviation=0.08).only(*GENTLE),
        w_out=normal("dims", "dims", deviation=0.08).only(*GENTLE),
        w_up=normal("dims", "hidden", deviation=0.08).only(*GENTLE),
        w_down=normal("hidden", "dims", deviation=0.08).only(*GENTLE),
    ),
    outputs=dict(y=output("tokens", "dims")),
    multiples=dict(dims=4),
    constants=dict(heads=4, eps=1e-5),
    oracle=block,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * tokens * dims * (4 * dims + 2 * hidden) + 4 * tokens * tokens * dims",
    baseline="mx.fast.layer_norm, matmul, mx.fast.scaled_dot_product_attention, erf",
)
def transformer_block(x, w_qkv, w_out, w_up, w_down, heads, eps):
    tokens, dims = x.shape
    qkv = mx.fast.layer_norm(x, None, None, eps) @ w_qkv
    q, k, v = qkv.reshape(1, tokens, 3, heads, dims // heads).transpose(2, 0, 3, 1, 4)
    scale = 1 / math.sqrt(dims // heads)
    mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale)
    x = x + mixed.transpose(0, 2, 1, 3).reshape(tokens, dims) @ w_out
    hidden = mx.fast.layer_norm(x, None, None, eps) @ w_up
    return x + (hidden * (1 + mx.erf(hidden / math.sqrt(2))) / 2) @ w_down
