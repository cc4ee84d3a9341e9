"""Layer of a llama model: attention and gated feed-forward, each after an RMS norm."""

import math

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.oracles import gqa_layer, gqa_layer_magnitude

# Weights far from zero would make the attention all but choose a token: no kernel agrees then.
GENTLE = (even(), coarse(), sparse())


def normed(x, eps):
    """Rows of `x` over the root of their mean square."""
    return x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + eps)


def layer(x, w_qkv, w_out, w_gate_up, w_down, heads, kv_heads, base, eps):
    """The whole layer in numpy."""
    grouping = dict(heads=heads, kv_heads=kv_heads, base=base)
    x = x + gqa_layer(normed(x, eps), w_qkv, w_out, **grouping)
    gate, up = np.split(normed(x, eps) @ w_gate_up, 2, axis=-1)
    return x + (gate * scipy.special.expit(gate) * up) @ w_down


def magnitude(x, w_qkv, w_out, w_gate_up, w_down, heads, kv_heads, base, eps):
    """Sums of absolute terms; errors of gate and up are multiplied by each other's values."""
    grouping = dict(heads=heads, kv_heads=kv_heads, base=base)
    total = np.abs(x) + gqa_layer_magnitude(normed(x, eps), w_qkv, w_out, **grouping)
    x = x + gqa_layer(normed(x, eps), w_qkv, w_out, **grouping)
    gate, up = np.abs(np.split(normed(x, eps) @ w_gate_up, 2, axis=-1))
    of_gate, of_up = np.split(np.abs(normed(x, eps)) @ np.abs(w_gate_up), 2, axis=-1)
    return total + (of_gate * up + gate * of_up) @ np.abs(w_down)


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32, hidden=64),
        odd1=dict(tokens=37, dims=40, hidden=101),
        odd2=dict(tokens=65, dims=72, hidden=130),
        seed=dict(tokens=64, dims=128, hidden=256),
        large=dict(tokens=640, dims=512, hidden=2048),
        huge=dict(tokens=2560, dims=512, hidden=2048),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("tokens", "dims").only(*GENTLE),
        w_qkv=normal("dims", "2 * dims", deviation=0.08).only(*GENTLE),
        w_out=normal("dims", "dims", deviation=0.08).only(*GENTLE),
        w_gate_up=normal("dims", "2 * hidden", deviation=0.08).only(*GENTLE),
        w_down=normal("hidden", "dims", deviation=0.08).only(*GENTLE),
    ),
    outputs=dict(y=output("tokens", "dims")),
    multiples=dict(dims=8),
    constants=dict(heads=4, kv_heads=2, base=10000.0, eps=1e-5),
    oracle=layer,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * tokens * dims * (dims + hidden) + 2 * tokens * tokens * dims",
    baseline="mx.fast: rms_norm, rope, scaled_dot_product_attention; matmul, sigmoid",
)
def llama_decoder_layer(x, w_qkv, w_out, w_gate_up, w_down, heads, kv_heads, base, eps):
    tokens, dims = x.shape
    width = dims // heads
    qkv = mx.fast.rms_norm(x, None, eps) @ w_qkv
    split = qkv.reshape(1, tokens, heads + 2 * kv_heads, width).transpose(0, 2, 1, 3)
    q, k, v = mx.split(split, [heads, heads + kv_heads], axis=1)
    q = mx.fast.rope(q, width, traditional=True, base=base, scale=1.0, offset=0)
    k = mx.fast.rope(k, width, traditional=True, base=base, scale=1.0, offset=0)
    mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(width), mask="causal")
    x = x + mixed.transpose(0, 2, 1, 3).reshape(tokens, dims) @ w_out
    gate, up = mx.split(mx.fast.rms_norm(x, None, eps) @ w_gate_up, 2, axis=-1)
    return x + (gate * mx.sigmoid(gate) * up) @ w_down
