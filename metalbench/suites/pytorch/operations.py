"""PyTorch's operations, by their names and with their arguments, over those of MLX or NumPy.

Arrays are laid out as PyTorch has them, channels first; convolutions and pools are done channels
last, where MLX has them, and what is moved there and back between two of them is not copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.pytorch.arrays import Arrays
from metalbench.suites.pytorch.normalizing import Norms
from metalbench.suites.pytorch.recurrent import Recurrent
from metalbench.suites.pytorch.windowed import Windowed

# Elementwise ones that have the same name and the same arguments.
SAME = (
    "abs", "cos", "divide", "exp", "hardsigmoid", "hardswish", "log", "maximum", "minimum", "mish",
    "multiply", "relu", "selu", "sigmoid", "sqrt", "square", "subtract", "tanh", "where",
)  # fmt: skip


class Operations(Arrays, Norms, Recurrent, Windowed):
    """`nn` of a body that was imported. Sizes are attributes."""

    def __init__(
        self,
        on: ModuleType,
        sizes: dict[str, int],
        place: int = 0,
        array: Callable[..., Any] | None = None,
    ) -> None:
        self._on = on
        self._sizes = sizes
        self._place = place
        self._array = array
        self._layers = Layers(on, sizes)

    def __getattr__(self, name: str) -> Any:
        sizes = self.__dict__.get("_sizes", {})
        if name in sizes:
            return sizes[name]
        if name in SAME:
            return getattr(self.__dict__["_layers"], name)
        raise AttributeError(f"no operation and no size {name!r}")

    @classmethod
    def knows(cls, name: str) -> bool:
        """Return whether there is an operation of that name."""
        return name in SAME or (
            not name.startswith("_") and name not in ("at", "knows") and hasattr(cls, name)
        )

    def at(self, *values: Any) -> Any:
        """Return the number that belongs to this size, in the order of the sizes."""
        return values[self._place]

    def add(self, x: Any, y: Any, *, alpha: float = 1) -> Any:
        """X + alpha y."""
        return x + (y if alpha == 1 else alpha * y)

    def sub(self, x: Any, y: Any, *, alpha: float = 1) -> Any:
        """X - alpha y."""
        return x - (y if alpha == 1 else alpha * y)

    def rsub(self, x: Any, y: Any) -> Any:
        """Y - x."""
        return y - x

    def mul(self, x: Any, y: Any) -> Any:
        """X y."""
        return x * y

    def div(self, x: Any, y: Any) -> Any:
        """X / y."""
        return x / y

    def neg(self, x: Any) -> Any:
        """-x."""
        return -x

    def reciprocal(self, x: Any) -> Any:
        """1 / x."""
        return 1 / x

    def rsqrt(self, x: Any) -> Any:
        """1 / sqrt(x)."""
        return 1 / self._on.sqrt(x)

    def pow(self, x: Any, y: Any) -> Any:
        """X to the power of y."""
        return x * x if isinstance(y, (int, float)) and y == 2 else x**y

    def softplus(self, x: Any, beta: float = 1, threshold: float = 20) -> Any:
        """ln(1 + e^(beta x)) / beta."""
        return self._on.softplus(x * beta) / beta if beta != 1 else self._on.softplus(x)

    def silu(self, x: Any) -> Any:
        """X sigmoid(x)."""
        return x * self._on.sigmoid(x)

    def gelu(self, x: Any, *, approximate: str = "none") -> Any:
        """GELU, by erf or by a hyperbolic tangent."""
        return self._on.gelu_tanh(x) if approximate == "tanh" else self._on.gelu(x)

    def elu(self, x: Any, alpha: float = 1.0) -> Any:
        """Below 0 alpha (e^x - 1)."""
        return self._on.elu(x, alpha)

    def leaky_relu(self, x: Any, slope: float = 0.01) -> Any:
        """Below 0 times the slope."""
        return self._on.leaky_relu(x, slope)

    def relu6(self, x: Any) -> Any:
        """Clamp to [0, 6]."""
        return self._on.clamp(x, 0, 6)

    def hardtanh(self, x: Any, low: float = -1, high: float = 1) -> Any:
        """Clamp to [low, high]."""
        return self._on.clamp(x, low, high)

    def clamp(self, x: Any, min: float | None = None, max: float | None = None) -> Any:
        """Clamp to [min, max]."""
        low, high = -math.inf if min is None else min, math.inf if max is None else max
        return self._on.clamp(x, low, high)

    clip = clamp

    def clamp_min(self, x: Any, low: float) -> Any:
        """At least `low`."""
        return self._on.maximum(x, low)

    def masked_fill(self, x: Any, mask: Any, value: float) -> Any:
        """`value` where the mask is true."""
        return self._on.where(mask != 0, value, x)

    def eq(self, x: Any, y: Any) -> Any:
        """Return whether x equals y."""
        return x == y

    def dropout(self, x: Any, share: float, training: bool) -> Any:
        """Return x: random dropout is not supported."""
        return x

    def matmul(self, a: Any, b: Any) -> Any:
        """Return a product of matrices and vectors."""
        return self._layers.matmul(a, b)

    bmm = mm = matmul

    def addmm(self, c: Any, a: Any, b: Any) -> Any:
        """C + a b."""
        return c + self.matmul(a, b)

    def linear(self, x: Any, weight: Any, bias: Any = None) -> Any:
        """X W^T + b over the last axis."""
        y = self.matmul(x, self._on.swapped(weight))
        return y if bias is None else y + bias

    def scaled_dot_product_attention(  # noqa: PLR0917
        self,
        q: Any,
        k: Any,
        v: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
    ) -> Any:
        """softmax(q k^T scale) v; a mask is added."""
        if attn_mask is None and not is_causal and q.ndim == 4 and scale is None:
            return self._on.attention(q, k, v)
        scores = self.matmul(q, self._on.swapped(k)) * (scale or 1 / math.sqrt(q.shape[-1]))
        if attn_mask is not None:
            scores = scores + attn_mask
        if is_causal:
            below = self._on.triangle(max(scores.shape[-2:]))
            below = below[: scores.shape[-2], : scores.shape[-1]]
            scores = self._on.where(below != 0, scores, -math.inf)
        return self.matmul(self._on.softmax(scores, -1), v)

    def einsum(self, equation: str, arrays: Sequence[Any], *_: Any, path: Any = None) -> Any:
        """Products of several arrays, summed over the axes that the result has not."""
        return self._on.einsum(equation, *arrays)

    def mse_loss(self, x: Any, y: Any) -> Any:
        """Return the mean of squares."""
        return self._on.mean(self._on.square(x - y))

    def smooth_l1_loss(self, x: Any, y: Any) -> Any:
        """Return the mean of d^2 / 2 where |d| < 1, else |d| - 1/2."""
        return self._on.huber_loss(x, y)

    huber_loss = smooth_l1_loss

    def cross_entropy_loss(self, x: Any, classes: Any) -> Any:
        """Return the mean over rows of -log(softmax) at the row's class."""
        return self._on.cross_entropy(x, classes)

    def kl_div(self, log_x: Any, y: Any, reduction: int = 1) -> Any:
        """Return the sum of y (log y - log x): 2 is how PyTorch calls that reduction."""
        if reduction != 2:
            raise ValueError(f"kl_div: expected a sum, got reduction {reduction}")
        return self._on.kl_div(log_x, y) * y.shape[0]

    def triplet_margin_loss(self, a: Any, near: Any, far: Any, margin: float = 1.0) -> Any:
        """Return the mean of max(|a - n| - |a - f| + margin, 0)."""
        if margin != 1.0:
            raise ValueError(f"triplet_margin_loss: expected the margin 1, got {margin}")
        return self._on.triplet_margin_loss(a, near, far)

    def sum(self, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Return the sum over axes."""
        return self._on.sum(x, _axes(dim), keepdim)

    def mean(self, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Return the mean over axes."""
        return self._on.mean(x, _axes(dim), keepdim)

    def amax(self, x: Any, dim: Any, keepdim: bool = False) -> Any:
        """Return the largest along axes."""
        return self._on.max(x, _axes(dim), keepdim)

    def max(self, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the largest along an axis and where it is; of all; or of two arrays."""
        if hasattr(dim, "shape"):
            return self._on.maximum(x, dim)
        if dim is None:
            return self._on.max(x.reshape(-1), 0, True)
        return self._on.max(x, dim, keepdim), self.argmax(x, dim, keepdim)

    def min(self, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the smallest along an axis and where it is; of all; or of two arrays."""
        if hasattr(dim, "shape"):
            return self._on.minimum(x, dim)
        if dim is None:
            return self._on.min(x.reshape(-1), 0, True)
        return self._on.min(x, dim, keepdim), self.argmin(x, dim, keepdim)

    def argmax(self, x: Any, dim: int, keepdim: bool = False) -> Any:
        """Return the index of the first largest element."""
        y = self._on.argmax(x, dim)
        return self.unsqueeze(y, dim) if keepdim else y

    def argmin(self, x: Any, dim: int, keepdim: bool = False) -> Any:
        """Return the index of the first smallest element."""
        y = self._on.argmin(x, dim)
        return self.unsqueeze(y, dim) if keepdim else y

    def cumsum(self, x: Any, dim: int) -> Any:
        """Return sums of all elements up to each."""
        return self._on.cumsum(x, dim)

    def cumprod(self, x: Any, dim: int) -> Any:
        """Products of all elements up to each."""
        return self._on.cumprod(x, dim)

    def logsumexp(self, x: Any, dim: Sequence[int], keepdim: bool = False) -> Any:
        """Return the logarithm of the sum of exponentials."""
        return self._on.logsumexp(x, _axes(dim), keepdim)

    def softmax(self, x: Any, dim: int, dtype: Any = None) -> Any:
        """Exponentials in proportion to their sum."""
        return self._on.softmax(x, dim)

    def log_softmax(self, x: Any, dim: int, dtype: Any = None) -> Any:
        """Return the logarithm of softmax."""
        return self._on.log_softmax(x, dim)

    def linalg_vector_norm(
        self, x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False
    ) -> Any:
        """Return the Euclidean norm along axes, or the sum of magnitudes."""
        if ord == 1:
            return self._on.sum(self._on.abs(x), _axes(dim), keepdim)
        return self._on.root_of_squares(x, _axes(dim), keepdim)

    def norm(self, x: Any, p: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
        """As `linalg_vector_norm`."""
        return self.linalg_vector_norm(x, p, dim, keepdim)


def _axes(dim: Any) -> Any:
    if isinstance(dim, (tuple, list)):
        return tuple(dim) if len(dim) != 1 else dim[0]
    return dim
