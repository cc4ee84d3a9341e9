"""The operations of problems in NumPy and SciPy, as exact as their arguments are: the oracle's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special  # type: ignore[import-untyped,unused-ignore]

from metalbench.kernelbench.problems import windows_on_numpy as windows
from metalbench.task import oracles

Array = np.ndarray[Any, Any]
Numbers = Sequence[int]

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

abs = np.abs
add = np.add
avg_pool = windows.avg_pool
convolution = windows.convolution
cos = np.cos
divide = np.divide
einsum = np.einsum
exp = np.exp
flip = np.flip
log = np.log
max_pool = windows.max_pool
maximum = np.maximum
minimum = np.minimum
multiply = np.multiply
part = lambda x, *index: x[index]  # noqa: E731 - a view, by slices
product = np.matmul
reshape = np.reshape
roll = np.roll
sigmoid = scipy.special.expit
sqrt = np.sqrt
square = np.square
subtract = np.subtract
tanh = np.tanh
transpose = np.transpose
transposed_convolution = windows.transposed_convolution
where = np.where


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, 0)


def leaky_relu(x: Array, slope: float = 0.01) -> Array:
    """Below 0 times the slope."""
    return np.where(x > 0, x, slope * x)


def cube(x: Array) -> Array:
    """Return the third power."""
    return np.asanyarray(x * x * x)


def dropout(x: Array, keep: Array, share: float) -> Array:
    """Return x times the mask `keep`, divided by the kept share."""
    return np.asanyarray(x * keep / (1 - share))


def clamp(x: Array, low: Any = -np.inf, high: Any = np.inf) -> Array:
    """Clamp to [low, high]."""
    return np.asanyarray(np.minimum(np.maximum(x, low), high))


def gelu(x: Array) -> Array:
    """X times the normal distribution's share below it."""
    return np.asanyarray(x * scipy.special.ndtr(x))


def gelu_tanh(x: Array) -> Array:
    """GELU by a hyperbolic tangent of a cubic."""
    return np.asanyarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def elu(x: Array, alpha: float = 1.0) -> Array:
    """Below 0 alpha (e^x - 1)."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def selu(x: Array) -> Array:
    """Return the scaled ELU of self-normalising networks."""
    return np.asanyarray(SELU_SCALE * elu(x, SELU_ALPHA))


def softplus(x: Array) -> Array:
    """ln(1 + e^x)."""
    return np.asanyarray(np.logaddexp(x, 0))


def softsign(x: Array) -> Array:
    """X / (1 + |x|)."""
    return np.asanyarray(x / (1 + np.abs(x)))


def mish(x: Array) -> Array:
    """X tanh(softplus x)."""
    return np.asanyarray(x * np.tanh(softplus(x)))


def hardsigmoid(x: Array) -> Array:
    """X / 6 + 1/2 within [0, 1]."""
    return np.clip(x / 6 + 0.5, 0, 1)


def hardswish(x: Array) -> Array:
    """X times its hard sigmoid."""
    return np.asanyarray(x * hardsigmoid(x))


def sum(x: Array, axis: Any = None, keep: bool = False) -> Array:
    """Return the sum over axes; over all of them as an array of one element."""
    return _one(x.sum(axis=axis, keepdims=keep))


def mean(x: Array, axis: Any = None, keep: bool = False) -> Array:
    """Return the mean over axes; over all of them as an array of one element."""
    return _one(x.mean(axis=axis, keepdims=keep))


def max(x: Array, axis: int, keep: bool = False) -> Array:
    """Return the largest along an axis."""
    return np.asanyarray(x.max(axis=axis, keepdims=keep))


def min(x: Array, axis: int, keep: bool = False) -> Array:
    """Return the smallest along an axis."""
    return np.asanyarray(x.min(axis=axis, keepdims=keep))


def argmax(x: Array, axis: int) -> Array:
    """Return the index of the first largest element along an axis."""
    return np.asanyarray(x.argmax(axis=axis), np.uint32)


def argmin(x: Array, axis: int) -> Array:
    """Return the index of the first smallest element along an axis."""
    return np.asanyarray(x.argmin(axis=axis), np.uint32)


def logsumexp(x: Array, axis: int, keep: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials."""
    return np.asanyarray(oracles.logsumexp(x, axis=axis, keepdims=keep))


def softmax(x: Array, axis: Any) -> Array:
    """Exponentials in proportion to their sum."""
    return np.asanyarray(oracles.softmax(x, axis=axis))


def log_softmax(x: Array, axis: int) -> Array:
    """Return the logarithm of softmax."""
    return np.asanyarray(oracles.log_softmax(x, axis=axis))


def cumsum(x: Array, axis: int) -> Array:
    """Return sums of all elements up to each."""
    return np.asanyarray(x.cumsum(axis=axis))


def cumprod(x: Array, axis: int) -> Array:
    """Products of all elements up to each."""
    return np.asanyarray(x.cumprod(axis=axis))


def normalized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    """Minus the mean, over the root of the population variance and `eps`."""
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    return np.asanyarray(centred / np.sqrt(variance + eps))


def swapped(x: Array) -> Array:
    """Return the last two axes in the other order."""
    return np.swapaxes(x, -1, -2)


def concat(arrays: Sequence[Array], axis: int) -> Array:
    """Return one behind the other."""
    return np.concatenate(arrays, axis=axis)


def stack(arrays: Sequence[Array], axis: int) -> Array:
    """Along a new axis."""
    return np.stack(arrays, axis=axis)


def pad(x: Array, widths: Sequence[tuple[int, int]]) -> Array:
    """Zeros around."""
    return np.pad(x, widths)


def taken(x: Array, rows: Any) -> Array:
    """Return rows of `x` by whole numbers of NumPy."""
    return np.asanyarray(x[rows])


def triangle(n: int) -> Array:
    """Ones on and below the diagonal of a square matrix, and zeros."""
    return np.tri(n)


def full(x: Array, shape: Numbers) -> Array:
    """`x` as often as `shape` says."""
    return np.broadcast_to(x, shape)


def zeros(shape: Numbers) -> Array:
    """Zeros."""
    return np.zeros(shape)


def given(values: Array) -> Array:
    """Return numbers that the problem fixes."""
    return values


def root_of_squares(x: Array, axis: Any = None, keep: bool = False) -> Array:
    """Return the Euclidean norm along axes, or of everything."""
    return _one(np.sqrt(np.square(x).sum(axis=axis, keepdims=keep)))


def huber_loss(x: Array, y: Array) -> Array:
    """Return the mean of d^2 / 2 where |d| < 1, else |d| - 1/2."""
    distance = np.abs(x - y)
    return _one(np.where(distance < 1, distance**2 / 2, distance - 0.5).mean())


def cross_entropy(x: Array, classes: Array) -> Array:
    """Return the mean over rows of logits of -log(softmax) at the row's class."""
    chosen = np.take_along_axis(x, classes[:, None].astype(np.int64), axis=1)
    return _one((oracles.logsumexp(x, axis=1) - chosen[:, 0]).mean())


def kl_div(log_x: Array, y: Array) -> Array:
    """Return the sum of y (log y - log x), over the number of rows."""
    return _one((scipy.special.xlogy(y, y) - y * log_x).sum() / y.shape[0])


def triplet_margin_loss(anchor: Array, near: Array, far: Array) -> Array:
    """The mean of max(|a - n| - |a - f| + 1, 0), to each difference 1e-6 added, as PyTorch does."""
    distances = [np.linalg.norm(anchor - each + 1e-6, axis=1) for each in (near, far)]
    return _one(np.maximum(distances[0] - distances[1] + 1, 0).mean())


def attention(q: Array, k: Array, v: Array) -> Array:
    """softmax(q k^T / sqrt(dims)) v."""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return np.asanyarray(softmax(scores, -1) @ v)


def _one(x: Any) -> Array:
    return np.asanyarray(x).reshape(1) if np.ndim(x) == 0 else np.asarray(x)
