"""Operations of oracles in NumPy. Each computes in the precision of its arguments.

Images are channels last: (batch, extents..., channels), with filters (filters, taps..., channels).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def error_scale(results: Any, *, depth: int, magnitude: float = 0.0) -> Any:
    """Return what errors are relative to: `depth` times the result, or the magnitude if larger.

    `results` is an array, or a tuple of arrays.
    """
    if isinstance(results, tuple):
        return tuple(error_scale(each, depth=depth, magnitude=magnitude) for each in results)
    return depth * np.maximum(np.abs(results), magnitude)


def softmax(x: Array, axis: Any = -1) -> Array:
    """Return exp(x) in proportion to its sum over `axis`."""
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    shares: Array = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return shares


def logsumexp(x: Array, axis: Any = -1, keepdims: bool = False) -> Array:
    """Return log(sum exp(x)) over `axis`; where all of `x` is -inf, -inf."""
    largest = x.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    result: Array = total if keepdims else total.squeeze(axis=axis)
    return result


def log_softmax(x: Array, axis: Any = -1) -> Array:
    """Return the logarithm of `softmax`."""
    largest = x.max(axis=axis, keepdims=True)
    centred = x - np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        logarithms: Array = centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))
    return logarithms


def convolve(x: Array, w: Array) -> Array:
    """Convolve without padding, in any number of dimensions: for each tap a matrix product."""
    extents = [n - taps + 1 for n, taps in zip(x.shape[1:-1], w.shape[1:-1], strict=True)]
    y = np.zeros_like(x, shape=(x.shape[0], *extents, w.shape[0]), order="C")
    for tap in np.ndindex(*w.shape[1:-1]):
        window = tuple(slice(i, i + n) for i, n in zip(tap, extents, strict=True))
        y += _times_matrix(x[(slice(None), *window)], w[(slice(None), *tap)].T)
    return y


def _times_matrix(x: Array, matrix: Array) -> Array:
    """Return `x @ matrix` as one product: NumPy calls BLAS once for every matrix of a stack."""
    y: Array = x.reshape(-1, x.shape[-1]) @ matrix
    return y.reshape(*x.shape[:-1], matrix.shape[-1])


def convolve_with_padding(x: Array, w: Array) -> Array:
    """Convolve with zeros around the image, so that the result is as large; taps are odd."""
    borders = [(taps // 2, taps // 2) for taps in w.shape[1:-1]]
    return convolve(np.pad(x, [(0, 0), *borders, (0, 0)]), w)


def convolve_transposed(x: Array, w: Array, stride: int = 1) -> Array:
    """Return the transposed convolution: each pixel adds its filters to a patch, `stride` apart."""
    extents = [
        stride * (n - 1) + taps for n, taps in zip(x.shape[1:-1], w.shape[1:-1], strict=True)
    ]
    y = np.zeros_like(x, shape=(x.shape[0], *extents, w.shape[0]), order="C")
    for tap in np.ndindex(*w.shape[1:-1]):
        window = tuple(
            slice(i, i + stride * (n - 1) + 1, stride)
            for i, n in zip(tap, x.shape[1:-1], strict=True)
        )
        y[(slice(None), *window)] += _times_matrix(x, w[(slice(None), *tap)].T)
    return y


def split_blocks(x: Any, side: int = 2) -> Any:
    """View an image of NumPy or MLX as (batch, height / side, side, ..., channels).

    The remainder of an extent is dropped. Pooling reduces axes 2, 4, ...
    """
    batch, *extents, channels = x.shape
    covered = tuple(slice(n // side * side) for n in extents)
    split = [each for n in extents for each in (n // side, side)]
    return x[(slice(None), *covered)].reshape(batch, *split, channels)


def attention(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """Return softmax(q k^T / sqrt(dims)) v of `q` (..., queries, dims), `k`, `v` (..., keys, dims).

    With `causal`, query i attends to keys 0 to i.
    """
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    mixed: Array = softmax(scores) @ v
    return mixed


def attention_magnitude(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """Return the error scale of `attention`: sums of absolute terms times 1 + the largest score.

    A relative error e of a score s changes its exponential by the relative error e s.
    """
    sizes = np.abs(q @ np.swapaxes(k, -1, -2))
    if causal:
        sizes = np.tril(sizes)
    largest = sizes.max(axis=-1, keepdims=True)
    mixed = attention(q, k, np.abs(v), causal=causal)
    magnitude: Array = mixed * (1 + largest / math.sqrt(q.shape[-1]))
    return magnitude


def rotate_pairs(x: Array, base: float) -> Array:
    """Rotate pair i of position p by the angle p base^(-2i / dims); `x` (..., positions, dims).

    Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021).
    """
    positions, dims = x.shape[-2:]
    frequency = float(base) ** (-np.arange(0, dims, 2) / dims)
    angle = np.arange(positions)[:, None] * frequency
    turned = np.empty_like(x)
    turned[..., ::2] = x[..., ::2] * np.cos(angle) - x[..., 1::2] * np.sin(angle)
    turned[..., 1::2] = x[..., ::2] * np.sin(angle) + x[..., 1::2] * np.cos(angle)
    return turned


def gqa_layer(
    x: Array, w_qkv: Array, w_out: Array, *, heads: int, kv_heads: int, base: float
) -> Array:
    """Return grouped-query attention of `x` (tokens, dims): causal, with rotary positions.

    Columns of `w_qkv` are queries, keys and values, head by head. heads / kv_heads query heads
    share one key head.
    """
    return _attend_heads(attention, x, w_qkv, heads=heads, kv_heads=kv_heads, base=base) @ w_out


def gqa_layer_magnitude(
    x: Array, w_qkv: Array, w_out: Array, *, heads: int, kv_heads: int, base: float
) -> Array:
    """Return sums of absolute terms of `gqa_layer`, after the scores."""
    mixed = _attend_heads(attention_magnitude, x, w_qkv, heads=heads, kv_heads=kv_heads, base=base)
    return mixed @ np.abs(w_out)


def _attend_heads(
    attend: Callable[..., Array],
    x: Array,
    w_qkv: Array,
    *,
    heads: int,
    kv_heads: int,
    base: float,
) -> Array:
    """Return the concatenated outputs of all heads: (tokens, dims)."""
    tokens, dims = x.shape
    split = (x @ w_qkv).reshape(tokens, heads + 2 * kv_heads, dims // heads).transpose(1, 0, 2)
    q = rotate_pairs(split[:heads], base)
    k = rotate_pairs(split[heads : heads + kv_heads], base).repeat(heads // kv_heads, axis=0)
    v = split[heads + kv_heads :].repeat(heads // kv_heads, axis=0)
    return attend(q, k, v, causal=True).transpose(1, 0, 2).reshape(tokens, dims)


# Norms of rows in NumPy, for oracles, and the scales of their rounding errors.


def root_mean_square(x: Array, eps: float) -> Array:
    """Return sqrt(mean(x^2) + eps) of every row of `x` (..., cols): (..., 1)."""
    mean: Array = np.einsum("...c,...c->...", x, x) / x.shape[-1]
    return np.asanyarray(np.sqrt(mean + eps)[..., None])


def standardise(x: Array, eps: float) -> Array:
    """Return the rows of `x` shifted and scaled to mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asanyarray(centred / root_mean_square(centred, eps))


def standardisation_terms(x: Array, eps: float) -> Array:
    """Return the terms whose difference `standardise` is, in units of the standard deviation."""
    mean = x.mean(axis=-1, keepdims=True)
    return np.asanyarray((np.abs(x) + np.abs(mean)) / root_mean_square(x - mean, eps))
