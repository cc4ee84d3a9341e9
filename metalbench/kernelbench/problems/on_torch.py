"""The operations of problems as PyTorch has them: its form of a task, to time kernels against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metalbench.kernelbench.problems.parameters import WindowGeometry

Numbers = Sequence[int]
Axes = int | Sequence[int] | None
# Functions that are called the same, with the same arguments.
SAME = (
    "abs", "add", "cos", "cumprod", "cumsum", "divide", "einsum", "exp", "log", "multiply",
    "reshape", "sigmoid", "sqrt", "square", "subtract", "tanh",
)  # fmt: skip
# Functions of torch.nn.functional that take one array.
FUNCTIONAL = (
    "gelu", "hardsigmoid", "hardswish", "mish", "relu", "selu", "softplus", "softsign",
)  # fmt: skip


class TorchOperations:
    """The operations on tensors of one device, by the names of `on_mlx`.

    Images are channels last. A view with channels first has PyTorch's memory format
    `channels_last`, so that nothing is copied.
    """

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._functions = torch.nn.functional
        self._device = device

    def __getattr__(self, name: str) -> Any:
        """Return a function that PyTorch calls the same."""
        if name in SAME:
            return getattr(self._torch, name)
        if name in FUNCTIONAL:
            return getattr(self._functions, name)
        raise AttributeError(f"no operation {name!r} on PyTorch")

    def product(self, a: Any, b: Any) -> Any:
        """Return the product of matrices."""
        return self._torch.matmul(a, b)

    def part(self, x: Any, *index: Any) -> Any:
        """Return a view, by slices."""
        return x[index]

    def roll(self, x: Any, shift: Any, axis: Any) -> Any:
        """Return the elements moved around along axes."""
        return self._torch.roll(x, shift, axis)

    def transpose(self, x: Any, axes: Numbers) -> Any:
        """Return the axes in another order."""
        return x.permute(*axes)

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger of two elements; `b` may be a number."""
        is_number = isinstance(b, (int, float))
        return a.clamp(min=b) if is_number else self._torch.maximum(a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the smaller of two elements; `b` may be a number."""
        is_number = isinstance(b, (int, float))
        return a.clamp(max=b) if is_number else self._torch.minimum(a, b)

    def where(self, chosen: Any, a: Any, b: Any) -> Any:
        """Return elements of a or b."""
        return self._torch.where(chosen, a, b)

    def gelu_tanh(self, x: Any) -> Any:
        """Return GELU in the form with tanh."""
        return self._functions.gelu(x, approximate="tanh")

    def leaky_relu(self, x: Any, slope: float = 0.01) -> Any:
        """Below 0 times the slope."""
        return self._functions.leaky_relu(x, slope)

    def elu(self, x: Any, alpha: float = 1.0) -> Any:
        """Below 0 alpha (e^x - 1)."""
        return self._functions.elu(x, alpha)

    def cube(self, x: Any) -> Any:
        """Return the third power."""
        return x * x * x

    def dropout(self, x: Any, keep: Any, share: float) -> Any:
        """Return x times the mask `keep`, divided by the kept share."""
        return x * keep / (1 - share)

    def clamp(self, x: Any, low: Any = None, high: Any = None) -> Any:
        """Clamp to [low, high]."""
        x = x if low is None else self.maximum(x, low)
        return x if high is None else self.minimum(x, high)

    def flip(self, x: Any, axis: int) -> Any:
        """From the other end."""
        return self._torch.flip(x, (axis,))

    def sum(self, x: Any, axis: Axes = None, keep: bool = False) -> Any:
        """Return the sum over axes; over all of them as an array of one element."""
        return _one(x.sum() if axis is None else x.sum(axis, keepdim=keep))

    def mean(self, x: Any, axis: Axes = None, keep: bool = False) -> Any:
        """Return the mean over axes; over all of them as an array of one element."""
        return _one(x.mean() if axis is None else x.mean(axis, keepdim=keep))

    def max(self, x: Any, axis: Axes, keep: bool = False) -> Any:
        """Return the largest along an axis."""
        return x.amax(axis, keepdim=keep)

    def min(self, x: Any, axis: Axes, keep: bool = False) -> Any:
        """Return the smallest along an axis."""
        return x.amin(axis, keepdim=keep)

    def argmax(self, x: Any, axis: int) -> Any:
        """Return the index of the first largest element along an axis."""
        return x.argmax(axis)

    def argmin(self, x: Any, axis: int) -> Any:
        """Return the index of the first smallest element along an axis."""
        return x.argmin(axis)

    def logsumexp(self, x: Any, axis: int, keep: bool = False) -> Any:
        """Return the logarithm of the sum of exponentials."""
        return x.logsumexp(axis, keepdim=keep)

    def softmax(self, x: Any, axis: Any) -> Any:
        """Exponentials in proportion to their sum."""
        if isinstance(axis, int):
            return x.softmax(axis)
        powers = (x - x.amax(axis, keepdim=True)).exp()
        return powers / powers.sum(axis, keepdim=True)

    def log_softmax(self, x: Any, axis: int) -> Any:
        """Return the logarithm of softmax."""
        return x.log_softmax(axis)

    def normalized(self, x: Any, axes: tuple[int, ...], eps: float) -> Any:
        """Minus the mean, over the root of the population variance and `eps`."""
        places = sorted(axis % x.ndim for axis in axes)
        if places == list(range(x.ndim - len(places), x.ndim)):
            return self._functions.layer_norm(x, x.shape[places[0] :], eps=eps)
        if places == list(range(x.ndim - 1)):
            flat = x.reshape(-1, x.shape[-1])
            norm = self._functions.batch_norm
            return norm(flat, None, None, training=True, eps=eps).reshape(x.shape)
        variance, mean = self._torch.var_mean(x, axes, correction=0, keepdim=True)
        return (x - mean) * (variance + eps).rsqrt()

    def swapped(self, x: Any) -> Any:
        """Return the last two axes in the other order."""
        return x.transpose(-1, -2)

    def concat(self, arrays: Sequence[Any], axis: int) -> Any:
        """Return one behind the other."""
        return self._torch.cat(list(arrays), axis)

    def stack(self, arrays: Sequence[Any], axis: int) -> Any:
        """Along a new axis."""
        return self._torch.stack(list(arrays), axis)

    def pad(self, x: Any, widths: Sequence[tuple[int, int]]) -> Any:
        """Zeros around."""
        return self._functions.pad(x, [each for pair in reversed(list(widths)) for each in pair])

    def taken(self, x: Any, rows: Any) -> Any:
        """Return rows of `x` by whole numbers of NumPy."""
        index = rows if isinstance(rows, self._torch.Tensor) else self.given(rows)
        return x[index.long()]

    def triangle(self, n: int) -> Any:
        """Ones on and below the diagonal of a square matrix, and zeros."""
        return self._torch.ones((n, n), device=self._device).tril()

    def full(self, x: Any, shape: Numbers) -> Any:
        """`x` as often as `shape` says."""
        return x.expand(*shape)

    def zeros(self, shape: Numbers) -> Any:
        """Zeros."""
        return self._torch.zeros(tuple(shape), device=self._device)

    def given(self, values: Any) -> Any:
        """Return numbers that the problem fixes."""
        plain = np.asarray(values, np.float32)
        return self._torch.from_numpy(plain).to(self._device)

    def root_of_squares(self, x: Any, axis: Axes = None, keep: bool = False) -> Any:
        """Return the Euclidean norm along axes, or of everything."""
        return _one(self._torch.linalg.vector_norm(x, dim=axis, keepdim=keep))

    def huber_loss(self, x: Any, y: Any) -> Any:
        """Return the mean of d^2 / 2 where |d| < 1, else |d| - 1/2."""
        return _one(self._functions.smooth_l1_loss(x, y))

    def cross_entropy(self, x: Any, classes: Any) -> Any:
        """Return the mean over rows of logits of -log(softmax) at the row's class."""
        return _one(self._functions.cross_entropy(x, classes.long()))

    def kl_div(self, log_x: Any, y: Any) -> Any:
        """Return the sum of y (log y - log x), over the number of rows."""
        return _one(self._functions.kl_div(log_x, y, reduction="batchmean"))

    def triplet_margin_loss(self, anchor: Any, near: Any, far: Any) -> Any:
        """The mean of max(|a - n| - |a - f| + 1, 0), to each difference 1e-6 added."""
        return _one(self._functions.triplet_margin_loss(anchor, near, far))

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        """softmax(q k^T / sqrt(dims)) v of (batch, heads, tokens, dims)."""
        return self._functions.scaled_dot_product_attention(q, k, v)

    def convolution(self, x: Any, w: Any, steps: WindowGeometry) -> Any:
        """Return a convolution in as many dimensions as there are."""
        one = getattr(self._functions, f"conv{x.ndim - 2}d")
        how = (None, tuple(steps.stride), tuple(steps.padding), tuple(steps.dilation), steps.groups)
        return one(x.movedim(-1, 1), w.movedim(-1, 1), *how).movedim(1, -1)

    def transposed_convolution(self, x: Any, w: Any, steps: WindowGeometry) -> Any:
        """Return a transposed convolution; PyTorch has the channels of its input first."""
        one = getattr(self._functions, f"conv_transpose{x.ndim - 2}d")
        filters = w.unflatten(0, (steps.groups, -1))
        # (groups, filters, taps..., channels) as (groups * channels, filters, taps...).
        filters = filters.movedim(-1, 1).flatten(0, 1)
        return one(
            x.movedim(-1, 1),
            filters,
            None,
            tuple(steps.stride),
            tuple(steps.padding),
            tuple(steps.output_padding),
            steps.groups,
            tuple(steps.dilation),
        ).movedim(1, -1)

    def max_pool(
        self,
        x: Any,
        kernel: Numbers,
        stride: Numbers,
        padding: Numbers,
        *,
        dilation: Numbers = (),
        ceil: bool = False,
    ) -> Any:
        """Return the largest of every window; what lies outside counts for nothing."""
        one = getattr(self._functions, f"max_pool{x.ndim - 2}d")
        how: Any = (tuple(kernel), tuple(stride), tuple(padding), tuple(dilation) or 1)
        return one(x.movedim(-1, 1), *how, ceil_mode=ceil).movedim(1, -1)

    def avg_pool(self, x: Any, kernel: Numbers, stride: Numbers, padding: Numbers) -> Any:
        """Return the mean of every window, zeros outside included."""
        one = getattr(self._functions, f"avg_pool{x.ndim - 2}d")
        how = (tuple(kernel), tuple(stride), tuple(padding))
        return one(x.movedim(-1, 1), *how).movedim(1, -1)


def _one(x: Any) -> Any:
    return x.reshape(1) if x.ndim == 0 else x
