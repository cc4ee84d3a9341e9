"""Benchmark programs that fusion turns into few kernels."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function
from metalbench.hlo.bench.families.single_operations import convolution, max_pool

LARGE = (1024, 1024)


def chain(x: Any) -> Any:
    """Apply many elementwise operations, one after the other."""
    for number in range(16):
        x = x * 0.5 + number
    return x


def siblings(x: Any) -> Any:
    """Return several results of one operand."""
    return x + 1, x * 2, jnp.abs(x), jnp.maximum(x, 0)


def used_twice(x: Any) -> Any:
    """Return an elementwise result and its sum."""
    y = jnp.exp(x)
    return y / (1 + y), y.sum()


FUSION: dict[str, Function] = {
    "chain": (chain, [LARGE]),
    "siblings": (siblings, [LARGE]),
    "used_twice": (used_twice, [LARGE]),
    "sum_of_squares": (lambda x, y: ((x - y) ** 2).sum(axis=-1), [LARGE, LARGE]),
    "product_epilogue": (
        lambda x, w, b: jax.nn.gelu(x @ w + b),
        [(256, 256), (256, 256), (256,)],
    ),
    "transposed_sum": (lambda x, y: x.T + y, [LARGE, LARGE]),
}


# Benchmark norms and softmax, written as formulas.

ROWS = (1024, 1024)


def layer_norm(x: Any, scale: Any, offset: Any) -> Any:
    """Return rows minus their mean, divided by their deviation, with scale and offset."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + 1e-5) * scale + offset


def rms_norm(x: Any, scale: Any) -> Any:
    """Return rows divided by their root mean square."""
    return x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def batch_norm(x: Any, scale: Any, offset: Any) -> Any:
    """Normalise by the mean and variance of the batch."""
    mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + offset


def group_norm(x: Any) -> Any:
    """Normalise eight groups of channels."""
    grouped = x.reshape(8, 28 * 28, 8, 8)
    mean = grouped.mean(axis=(1, 3), keepdims=True)
    variance = grouped.var(axis=(1, 3), keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + 1e-5)).reshape(x.shape)


NORMALIZATION: dict[str, Function] = {
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), [ROWS]),
    "softmax_half": (lambda x: jax.nn.softmax(x, axis=-1), [(ROWS, "float16")]),
    "log_softmax": (lambda x: jax.nn.log_softmax(x, axis=-1), [ROWS]),
    "layer_norm": (layer_norm, [ROWS, (1024,), (1024,)]),
    "rms_norm": (rms_norm, [ROWS, (1024,)]),
    "batch_norm": (batch_norm, [(8, 28, 28, 64), (64,), (64,)]),
    "group_norm": (group_norm, [(8, 28, 28, 64)]),
    "add_layer_norm": (
        lambda x, y, scale, offset: layer_norm(x + y, scale, offset),
        [ROWS, ROWS, (1024,), (1024,)],
    ),
}


# Benchmark attention, feed-forward layers and a transformer block, in plain jax.numpy.


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


# Benchmark steps of training: values, gradients and updates.


def perceptron(w: Any, v: Any, x: Any, labels: Any) -> Any:
    """Return the loss of two layers."""
    logits = jnp.tanh(x @ w) @ v
    rows = jnp.arange(labels.shape[0])
    return -jax.nn.log_softmax(logits)[rows, labels].mean()


def perceptron_step(w: Any, v: Any, x: Any, labels: Any) -> Any:
    """Return the loss and weights of a step of gradient descent."""
    loss, (dw, dv) = jax.value_and_grad(perceptron, (0, 1))(w, v, x, labels)
    return loss, w - 0.1 * dw, v - 0.1 * dv


def convolutional(w: Any, x: Any, y: Any) -> Any:
    """Return the loss of a convolution."""
    image = lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return ((jnp.maximum(image, 0).mean(axis=(1, 2)) - y) ** 2).mean()


def adam(w: Any, g: Any, m: Any, v: Any) -> Any:
    """Return weights and moments after a step of Adam."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 1e-3 * (m / 0.9) / (jnp.sqrt(v / 0.999) + 1e-8), m, v


TRAINING: dict[str, Function] = {
    "perceptron": (perceptron_step, [(784, 512), (512, 10), (128, 784), ((128,), "int32")]),
    "convolution_grad": (
        jax.value_and_grad(convolutional),
        [(3, 3, 8, 16), (4, 16, 16, 8), (4, 16)],
    ),
    "softmax_grad": (
        jax.grad(lambda x, y: (jax.nn.softmax(x) * y).sum()),
        [(1024, 512), (1024, 512)],
    ),
    "adam": (adam, [(512, 512)] * 4),
}


# Benchmark programs of several parts, as in models.


def small_network(x: Any, w: Any, v: Any, u: Any) -> Any:
    """Apply two convolutions with pools, and a classifier."""
    x = max_pool(jnp.maximum(convolution()(x, w), 0))
    x = max_pool(jnp.maximum(convolution()(x, v), 0))
    return jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ u)


def three_layers(x: Any, a: Any, b: Any, c: Any) -> Any:
    """Apply a classifier of three layers."""
    return jax.nn.softmax(jnp.tanh(jnp.tanh(x @ a) @ b) @ c)


def draw(seed: Any) -> Any:
    """Return normally distributed random numbers of Threefry."""
    return jax.random.normal(jax.random.key(seed), (512, 512))


COMPOSITE: dict[str, Function] = {
    "three_layers": (three_layers, [(128, 784), (784, 256), (256, 128), (128, 10)]),
    "convolutional": (
        small_network,
        [(8, 28, 28, 1), (3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10)],
    ),
    "norm_then_product": (
        lambda x, s, o, w: layer_norm(x, s, o) @ w,
        [(256, 512), (512,), (512,), (512, 512)],
    ),
    "rms_then_product": (lambda x, s, w: rms_norm(x, s) @ w, [(256, 512), (512,), (512, 512)]),
    "random_normal": (draw, [((), "int32")]),
    "cholesky_solve": (
        lambda a, b: jax.scipy.linalg.solve_triangular(
            jnp.linalg.cholesky(a @ a.T + 64 * jnp.eye(64)), b, lower=True
        ),
        [(64, 64), (64, 16)],
    ),
}
