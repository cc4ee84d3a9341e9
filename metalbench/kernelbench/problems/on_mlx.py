"""The operations of problems as MLX has them, fused where it can: the reference's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx.nn import losses
from mlx.nn.layers import activations

from metalbench.kernelbench.problems import windows_on_mlx as windows

Numbers = Sequence[int]

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

abs = mx.abs
add = mx.add
avg_pool = windows.avg_pool
convolution = windows.convolution
cos = mx.cos
divide = mx.divide
einsum = mx.einsum
exp = mx.exp
log = mx.log
max_pool = windows.max_pool
maximum = mx.maximum
minimum = mx.minimum
multiply = mx.multiply
part = lambda x, *index: x[index]  # noqa: E731 - a view, by slices
product = mx.matmul
reshape = mx.reshape
roll = mx.roll
sigmoid = mx.sigmoid
sqrt = mx.sqrt
square = mx.square
subtract = mx.subtract
tanh = mx.tanh
transpose = mx.transpose
transposed_convolution = windows.transposed_convolution
where = mx.where
gelu = activations.gelu
gelu_tanh = activations.gelu_approx
mish = activations.mish
hardswish = activations.hardswish


def relu(x: mx.array) -> mx.array:
    """max(x, 0)."""
    return mx.maximum(x, 0)


def leaky_relu(x: mx.array, slope: float = 0.01) -> mx.array:
    """Below 0 times the slope."""
    return mx.maximum(x, slope * x)


def cube(x: mx.array) -> mx.array:
    """Return the third power."""
    return x * x * x


def dropout(x: mx.array, keep: mx.array, share: float) -> mx.array:
    """Return x times the mask `keep`, divided by the kept share."""
    return x * keep / (1 - share)


def clamp(x: mx.array, low: Any = None, high: Any = None) -> mx.array:
    """Clamp to [low, high]."""
    return mx.clip(x, low, high)


def elu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """Below 0 alpha (e^x - 1)."""
    return mx.where(x > 0, x, alpha * mx.expm1(mx.minimum(x, 0)))


def selu(x: mx.array) -> mx.array:
    """Return the scaled ELU of self-normalising networks."""
    return SELU_SCALE * elu(x, SELU_ALPHA)


def softplus(x: mx.array) -> mx.array:
    """ln(1 + e^x)."""
    return mx.logaddexp(x, 0)


def softsign(x: mx.array) -> mx.array:
    """X / (1 + |x|)."""
    return x / (1 + mx.abs(x))


def hardsigmoid(x: mx.array) -> mx.array:
    """X / 6 + 1/2 within [0, 1]."""
    return mx.clip(x / 6 + 0.5, 0, 1)


def flip(x: mx.array, axis: int) -> mx.array:
    """From the other end."""
    index = [slice(None)] * x.ndim
    index[axis] = slice(None, None, -1)
    return x[tuple(index)]


def sum(x: mx.array, axis: Any = None, keep: bool = False) -> mx.array:
    """Return the sum over axes; over all of them as an array of one element."""
    return _one(x.sum(axis=axis, keepdims=keep))


def mean(x: mx.array, axis: Any = None, keep: bool = False) -> mx.array:
    """Return the mean over axes; over all of them as an array of one element."""
    return _one(x.mean(axis=axis, keepdims=keep))


def max(x: mx.array, axis: int, keep: bool = False) -> mx.array:
    """Return the largest along an axis."""
    return x.max(axis=axis, keepdims=keep)


def min(x: mx.array, axis: int, keep: bool = False) -> mx.array:
    """Return the smallest along an axis."""
    return x.min(axis=axis, keepdims=keep)


def argmax(x: mx.array, axis: int) -> mx.array:
    """Return the index of the first largest element along an axis."""
    return mx.argmax(x, axis=axis)


def argmin(x: mx.array, axis: int) -> mx.array:
    """Return the index of the first smallest element along an axis."""
    return mx.argmin(x, axis=axis)


def logsumexp(x: mx.array, axis: int, keep: bool = False) -> mx.array:
    """Return the logarithm of the sum of exponentials."""
    return mx.logsumexp(x, axis=axis, keepdims=keep)


def softmax(x: mx.array, axis: Any) -> mx.array:
    """Exponentials in proportion to their sum."""
    return mx.softmax(x, axis=axis)


def log_softmax(x: mx.array, axis: int) -> mx.array:
    """Return the logarithm of softmax."""
    return x - mx.logsumexp(x, axis=axis, keepdims=True)


def cumsum(x: mx.array, axis: int) -> mx.array:
    """Return sums of all elements up to each."""
    return mx.cumsum(x, axis=axis)


def cumprod(x: mx.array, axis: int) -> mx.array:
    """Products of all elements up to each."""
    return mx.cumprod(x, axis=axis)


def normalized(x: mx.array, axes: tuple[int, ...], eps: float) -> mx.array:
    """Minus the mean, over the root of the population variance and `eps`."""
    if axes in ((-1,), (x.ndim - 1,)):
        return mx.fast.layer_norm(x, None, None, eps)
    mean_of = x.mean(axis=axes, keepdims=True)
    return (x - mean_of) * mx.rsqrt(x.var(axis=axes, keepdims=True) + eps)


def swapped(x: mx.array) -> mx.array:
    """Return the last two axes in the other order."""
    return mx.swapaxes(x, -1, -2)


def concat(arrays: list[mx.array], axis: int) -> mx.array:
    """Return one behind the other."""
    return mx.concatenate(list(arrays), axis=axis)


def stack(arrays: list[mx.array], axis: int) -> mx.array:
    """Along a new axis."""
    return mx.stack(list(arrays), axis=axis)


def pad(x: mx.array, widths: Sequence[tuple[int, int]]) -> mx.array:
    """Zeros around."""
    return mx.pad(x, list(widths))


def taken(x: mx.array, rows: Any) -> mx.array:
    """Return rows of `x` by whole numbers of NumPy."""
    return mx.take(x, mx.array(rows), axis=0)


def triangle(n: int) -> mx.array:
    """Ones on and below the diagonal of a square matrix, and zeros."""
    return mx.tri(n)


def full(x: mx.array, shape: Numbers) -> mx.array:
    """`x` as often as `shape` says."""
    return mx.broadcast_to(x, shape)


def zeros(shape: Numbers) -> mx.array:
    """Zeros."""
    return mx.zeros(shape)


def given(values: Any) -> mx.array:
    """Return numbers that the problem fixes."""
    return mx.array(values, mx.float32)


def root_of_squares(x: mx.array, axis: Any = None, keep: bool = False) -> mx.array:
    """Return the Euclidean norm along axes, or of everything: row by row, which is more exact."""
    squares = mx.square(x)
    if axis is None:
        squares = squares.sum(axis=-1)
    return _one(mx.sqrt(squares.sum(axis=axis, keepdims=keep)))


def huber_loss(x: mx.array, y: mx.array) -> mx.array:
    """Return the mean of d^2 / 2 where |d| < 1, else |d| - 1/2."""
    return _one(losses.huber_loss(x, y, reduction="mean"))


def cross_entropy(x: mx.array, classes: mx.array) -> mx.array:
    """Return the mean over rows of logits of -log(softmax) at the row's class."""
    return _one(losses.cross_entropy(x, classes, reduction="mean"))


def kl_div(log_x: mx.array, y: mx.array) -> mx.array:
    """Return the sum of y (log y - log x), over the number of rows."""
    return _one((y * (mx.log(y) - log_x)).sum() / y.shape[0])


def triplet_margin_loss(anchor: mx.array, near: mx.array, far: mx.array) -> mx.array:
    """The mean of max(|a - n| - |a - f| + 1, 0), to each difference 1e-6 added, as PyTorch does."""
    distances = [mx.linalg.norm(anchor - each + 1e-6, axis=1) for each in (near, far)]
    return _one(mx.maximum(distances[0] - distances[1] + 1, 0).mean())


def attention(q: mx.array, k: mx.array, v: mx.array) -> mx.array:
    """softmax(q k^T / sqrt(dims)) v of (batch, heads, tokens, dims)."""
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.shape[-1]))


def _one(x: mx.array) -> mx.array:
    return x.reshape(1) if x.ndim == 0 else x
