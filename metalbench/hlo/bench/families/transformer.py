"""Benchmark attention, feed-forward layers and a transformer block, in plain jax.numpy."""

from typing import Any

import jax
import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function


def attention(q: Any, k: Any, v: Any) -> Any:
    """Return softmax(q k' / sqrt(dims)) v, with any batch axes."""
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(float(q.shape[-1]))
    return jax.nn.softmax(scores, axis=-1) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    """Return causal attention: tokens attend to themselves and to previous tokens."""
    tokens = q.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(float(q.shape[-1]))
    seen = jnp.tril(jnp.ones((tokens, tokens), bool))
    return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ v


def plain_layer_norm(x: Any) -> Any:
    """Return rows minus their mean, divided by their deviation."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def multi_head(x: Any, w_qkv: Any, w_out: Any, heads: Any) -> Any:
    """Return self-attention; head i is the i-th block of columns."""
    tokens, dims = x.shape
    qkv = (x @ w_qkv).reshape(tokens, 3, heads, dims // heads).transpose(1, 2, 0, 3)
    return attention(*qkv).transpose(1, 0, 2).reshape(tokens, dims) @ w_out


def block(x: Any, w_qkv: Any, w_out: Any, w_up: Any, w_down: Any) -> Any:
    """Return a pre-norm transformer block, as in kernels/full."""
    x = x + multi_head(plain_layer_norm(x), w_qkv, w_out, 4)
    return x + jax.nn.gelu(plain_layer_norm(x) @ w_up, approximate=False) @ w_down


def rope(x: Any, angles: Any) -> Any:
    """Return rows with their halves rotated."""
    a, b = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def list_block_shapes(tokens: Any, dims: Any, hidden: Any) -> list[tuple[int, ...]]:
    """Return the shapes of a block's arguments."""
    return [(tokens, dims), (dims, 3 * dims), (dims, dims), (dims, hidden), (hidden, dims)]


TRANSFORMER: dict[str, Function] = {
    "attention": (attention, [(256, 64)] * 3),
    "attention_heads": (attention, [(2, 8, 128, 64)] * 3),
    "attention_causal": (causal, [(8, 256, 64)] * 3),
    "attention_half": (attention, [((8, 256, 64), "float16")] * 3),
    "attention_one_query": (attention, [(1, 1, 64), (1, 2048, 64), (1, 2048, 64)]),
    "dot_product_attention": (jax.nn.dot_product_attention, [(2, 128, 8, 64)] * 3),
    "feed_forward": (
        lambda x, w, v: jax.nn.gelu(x @ w) @ v,
        [(128, 256), (256, 1024), (1024, 256)],
    ),
    "swiglu": (
        lambda x, w, v, o: (jax.nn.silu(x @ w) * (x @ v)) @ o,
        [(128, 256), (256, 512), (256, 512), (512, 256)],
    ),
    "rope": (rope, [(8, 256, 64), (256, 32)]),
    "block_64": (block, list_block_shapes(64, 128, 256)),
    "block_640": (block, list_block_shapes(640, 512, 2048)),
}
