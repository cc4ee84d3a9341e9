"""PyTorch's operations, by its names, on the operations of problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from metalbench.kernelbench.problems.layers import Layers
from metalbench.kernelbench.problems.parameters import WindowGeometry


class Arrays:
    """Operations that make arrays or move elements, and compute nothing."""

    _on: ModuleType

    def view(self, x: Any, shape: Sequence[int]) -> Any:
        """Return the same elements in another shape."""
        return self._on.reshape(x, tuple(shape))

    reshape = _unsafe_view = view

    def flatten(self, x: Any, first: int = 0, last: int = -1) -> Any:
        """Return the axes from `first` to `last` as one."""
        first, last = first % x.ndim, last % x.ndim
        middle = math.prod(x.shape[first : last + 1])
        return self._on.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))

    def unflatten(self, x: Any, dim: int, sizes: Sequence[int]) -> Any:
        """Return one axis as several."""
        dim %= x.ndim
        return self._on.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))

    def permute(self, x: Any, dims: Sequence[int]) -> Any:
        """Return the axes in another order."""
        return self._on.transpose(x, tuple(each % x.ndim for each in dims))

    def transpose(self, x: Any, a: int, b: int) -> Any:
        """Two axes in the other order."""
        order = list(range(x.ndim))
        order[a], order[b] = order[b], order[a]
        return self._on.transpose(x, tuple(order))

    def t(self, x: Any) -> Any:
        """Return a matrix transposed."""
        return x if x.ndim < 2 else self._on.swapped(x)

    def numpy_T(self, x: Any) -> Any:  # noqa: N802 - PyTorch's name
        """Return the axes from the other end."""
        return self._on.transpose(x, tuple(reversed(range(x.ndim))))

    def squeeze(self, x: Any, dim: Any = None) -> Any:
        """Without an axis of one element, or all of them."""
        asked = range(x.ndim) if dim is None else dim if isinstance(dim, tuple) else (dim,)
        gone = {each % x.ndim for each in asked if x.shape[each] == 1}
        return self._on.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in gone) or (1,))

    def unsqueeze(self, x: Any, dim: int) -> Any:
        """With an axis of one element."""
        shape = list(x.shape)
        shape.insert(dim % (x.ndim + 1), 1)
        return self._on.reshape(x, tuple(shape))

    def expand(self, x: Any, shape: Sequence[int]) -> Any:
        """As often as `shape` says; -1 leaves an axis as it is."""
        own = (1,) * (len(shape) - x.ndim) + tuple(x.shape)
        wanted = tuple(n if s == -1 else s for n, s in zip(own, shape, strict=True))
        return self._on.full(x, wanted)

    def expand_as(self, x: Any, other: Any) -> Any:
        """As often as the shape of another array says."""
        return self._on.full(x, tuple(other.shape))

    def broadcast_tensors(self, arrays: Sequence[Any]) -> list[Any]:
        """Return all in the shape that they have together."""
        shape = np.broadcast_shapes(*(tuple(each.shape) for each in arrays))
        return [self._on.full(each, shape) for each in arrays]

    def cat(self, arrays: Sequence[Any], dim: int = 0) -> Any:
        """Return one behind the other."""
        return self._on.concat(list(arrays), dim)

    def stack(self, arrays: Sequence[Any], dim: int = 0) -> Any:
        """Along a new axis."""
        return self._on.stack(list(arrays), dim)

    def select(self, x: Any, dim: int, index: int) -> Any:
        """Return one place along an axis."""
        return x[self._index(x, dim, index)]

    def slice(self, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
        """Return a part along an axis."""
        return x[self._index(x, dim, slice(start, end, step))]

    def narrow(self, x: Any, dim: int, start: int, length: int) -> Any:
        """Return `length` elements along an axis."""
        return self.slice(x, dim, start, start + length)

    def split(self, x: Any, size: int | Sequence[int], dim: int = 0) -> list[Any]:
        """Parts along an axis, of one size or of several."""
        whole = x.shape[dim]
        sizes = [size] * math.ceil(whole / size) if isinstance(size, int) else list(size)
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [
            self.slice(x, dim, end - n, min(end, whole)) for end, n in zip(ends, sizes, strict=True)
        ]

    split_with_sizes = split

    def chunk(self, x: Any, count: int, dim: int = 0) -> list[Any]:
        """Return `count` parts along an axis."""
        return self.split(x, math.ceil(x.shape[dim] / count), dim)

    def unbind(self, x: Any, dim: int = 0) -> list[Any]:
        """Return all places along an axis."""
        return [self.select(x, dim, i) for i in range(x.shape[dim])]

    def zeros_like(self, x: Any, **_: Any) -> Any:
        """Zeros; where they lie is nothing that is compared."""
        return x * 0

    def number(self, value: float) -> Any:
        """Return an array of that number alone."""
        kind = np.int32 if isinstance(value, int) else np.float32
        return self._on.given(np.asarray(value, kind))

    def getitem(self, several: Any, index: int) -> Any:
        """Return one of several results."""
        return several[index]

    def flip(self, x: Any, dims: Sequence[int]) -> Any:
        """From the other end of axes."""
        for each in dims:
            x = self._on.flip(x, each)
        return x

    def roll(self, x: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
        """Moved along axes, what falls out comes in at the other end."""
        return self._on.roll(x, tuple(shifts), tuple(dims))

    def pad(self, x: Any, widths: Sequence[int], mode: str = "constant", value: float = 0) -> Any:
        """Zeros around; widths are of the last axis first."""
        if mode != "constant" or value:
            raise ValueError(f"pad: expected zeros, got mode {mode!r} and value {value}")
        pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)]
        return self._on.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1])

    constant_pad_nd = pad

    def tril(self, x: Any, diagonal: int = 0) -> Any:
        """Return the elements on and below a diagonal, else 0."""
        rows, columns = x.shape[-2:]
        n = max(rows, columns) + abs(diagonal)
        below = self._on.triangle(n)
        begin = max(0, diagonal), max(0, -diagonal)
        mask = below[begin[0] : begin[0] + rows, begin[1] : begin[1] + columns]
        return self._on.where(mask != 0, x, 0)

    def triu(self, x: Any, diagonal: int = 0) -> Any:
        """Return the elements on and above a diagonal, else 0."""
        return x - self.tril(x, diagonal - 1)

    def cast(self, x: Any, kind: str) -> Any:
        """Truth as numbers."""
        if kind != "float32":
            raise ValueError(f"cast: expected float32, got {kind}")
        return x * 1.0

    @staticmethod
    def _index(x: Any, dim: int, what: Any) -> tuple[Any, ...]:
        return (*(slice(None),) * (dim % x.ndim), what)

    def unfold(self, x: Any, dim: int, size: int, step: int) -> Any:
        """Return windows along an axis, as a separate last axis."""
        axis = dim % x.ndim
        starts = range(0, x.shape[axis] - size + 1, step)
        before = (slice(None),) * axis
        taken = [self._on.part(x, *before, slice(each, each + size)) for each in starts]
        windows = self._on.stack(taken, axis)
        rest = [each for each in range(x.ndim + 1) if each != axis + 1]
        return self._on.transpose(windows, (*rest, axis + 1))


# Norms, by PyTorch's names.


class Norms:
    """Norms by the statistics of what comes in."""

    _on: ModuleType

    def batch_norm(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        variance: Any,
        training: bool,
        momentum: float,
        eps: float,
        *_: Any,
    ) -> Any:
        """By the statistics of this batch, channel by channel."""
        if not training:
            raise ValueError("batch_norm: expected a module in training, as KernelBench runs it")
        axes = (0, *range(2, x.ndim))
        return self._affine(self._on.normalized(x, axes, eps), weight, bias)

    def instance_norm(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        variance: Any,
        training: bool,
        momentum: float,
        eps: float,
        *_: Any,
    ) -> Any:
        """Over the pixels of every image and channel."""
        axes = tuple(range(2, x.ndim))
        return self._affine(self._on.normalized(x, axes, eps), weight, bias)

    def group_norm(
        self, x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
    ) -> Any:
        """Over the pixels and channels of every group of an image."""
        split = self._on.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
        y = self._on.reshape(self._on.normalized(split, (2,), eps), x.shape)
        return self._affine(y, weight, bias)

    def layer_norm(
        self,
        x: Any,
        shape: Sequence[int],
        weight: Any = None,
        bias: Any = None,
        eps: float = 1e-5,
        *_: Any,
    ) -> Any:
        """Over the last axes."""
        y = self._on.normalized(x, tuple(range(-len(shape), 0)), eps)
        y = y if weight is None else y * weight
        return y if bias is None else y + bias

    def _affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """Return a weight and a bias for each channel, axis 1."""
        along = (1, -1, *(1,) * (x.ndim - 2))
        x = x if weight is None else x * self._on.reshape(weight, along)
        return x if bias is None else x + self._on.reshape(bias, along)


# LSTM and GRU, by PyTorch's names and with its arguments.

State = tuple[Any, ...]
Cell = Callable[[Any, Any, State], State]


class Recurrent:
    """Recurrent layers; states are (layers times directions, batch, hidden)."""

    _on: ModuleType

    def lstm(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        state: Sequence[Any],
        weights: Sequence[Any],
        biases: bool,
        layers: int,
        share: float,
        training: bool,
        both_ways: bool,
        batch_first: bool,
    ) -> tuple[Any, Any, Any]:
        """Return the outputs, and the hidden and the cell states at the end."""
        cells = self._cells(self._lstm_cell, weights, biases)
        y, ends = self._stack_layers(x, state, cells, both_ways, batch_first)
        return y, ends[0], ends[1]

    def gru(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        state: Any,
        weights: Sequence[Any],
        biases: bool,
        layers: int,
        share: float,
        training: bool,
        both_ways: bool,
        batch_first: bool,
    ) -> tuple[Any, Any]:
        """Return the outputs, and the hidden states at the end."""
        cells = self._cells(self._gru_cell, weights, biases)
        y, ends = self._stack_layers(x, (state,), cells, both_ways, batch_first)
        return y, ends[0]

    def _stack_layers(
        self,
        x: Any,
        state: Sequence[Any],
        cells: list[tuple[Any, Cell]],
        both_ways: bool,
        batch_first: bool,
    ) -> tuple[Any, list[Any]]:
        ways = 1 + both_ways
        x = self._on.transpose(x, (1, 0, 2)) if batch_first else x
        ends: list[State] = []
        for layer in range(len(cells) // ways):
            outputs = []
            for way in range(ways):
                place = layer * ways + way
                begin = tuple(each[place] for each in state)
                y, end = self._one_way(x, begin, *cells[place], backwards=way == 1)
                outputs.append(y)
                ends.append(end)
            x = self._on.concat(outputs, -1) if both_ways else outputs[0]
        x = self._on.transpose(x, (1, 0, 2)) if batch_first else x
        return x, [self._on.stack([end[i] for end in ends], 0) for i in range(len(state))]

    def _one_way(
        self, x: Any, state: State, products: Any, cell: Cell, *, backwards: bool
    ) -> tuple[Any, State]:
        gates, order = products(x), range(x.shape[0])
        outputs = []
        for step in reversed(order) if backwards else order:
            state = cell(gates[step], None, state)
            outputs.append(state[0])
        return self._on.stack(outputs[::-1] if backwards else outputs, 0), state

    def _cells(self, cell: Any, weights: Sequence[Any], biases: bool) -> list[tuple[Any, Cell]]:
        each = 4 if biases else 2
        return [
            self._cell(cell, *weights[first : first + each])
            for first in range(0, len(weights), each)
        ]

    def _cell(self, cell: Any, w: Any, u: Any, b: Any = 0, c: Any = 0) -> tuple[Any, Cell]:
        on, turned = self._on, self._on.swapped(u)
        return (
            lambda x: on.product(x, on.swapped(w)) + b,
            lambda gates, _, state: cell(gates, on.product(state[0], turned) + c, state),
        )

    def _lstm_cell(self, gates: Any, of_state: Any, state: State) -> State:
        both, n = gates + of_state, state[0].shape[-1]
        i, f, g, o = (both[..., k * n : (k + 1) * n] for k in range(4))
        sigmoid, tanh = self._on.sigmoid, self._on.tanh
        c = sigmoid(f) * state[1] + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def _gru_cell(self, gates: Any, of_state: Any, state: State) -> State:
        n = state[0].shape[-1]
        (r, z, a), (s, y, b) = (
            [each[..., k * n : (k + 1) * n] for k in range(3)] for each in (gates, of_state)
        )
        z = self._on.sigmoid(z + y)
        new = self._on.tanh(a + self._on.sigmoid(r + s) * b)
        return ((1 - z) * new + z * state[0],)


# Convolutions and pools of images with channels first, by PyTorch's names.

Numbers = Sequence[int]


class Windowed:
    """They are done channels last."""

    _on: ModuleType

    def conv2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        """Return a convolution; weights are (filters, channels of a group, taps...)."""
        n = x.ndim - 2
        steps = WindowGeometry(_each(stride, n), _each(padding, n), _each(dilation, n), groups)
        y = self._first(self._on.convolution(self._last(x), self._last(weight), steps))
        return self._with(y, bias)

    conv1d = conv3d = conv2d

    def conv_transpose2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        """Return a transposed convolution; weights are (channels, filters of a group, taps...)."""
        n, channels = x.ndim - 2, weight.shape[0]
        steps = WindowGeometry(
            _each(stride, n),
            _each(padding, n),
            _each(dilation, n),
            groups,
            _each(output_padding, n),
        )
        taps, filters = tuple(weight.shape[2:]), weight.shape[1]
        split = self._on.reshape(weight, (groups, channels // groups, filters, *taps))
        turned = self._on.transpose(split, (0, 2, *range(3, 3 + n), 1))
        turned = self._on.reshape(turned, (groups * filters, *taps, channels // groups))
        y = self._first(self._on.transposed_convolution(self._last(x), turned, steps))
        return self._with(y, bias)

    conv_transpose1d = conv_transpose3d = conv_transpose2d

    def max_pool2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil: bool = False,
    ) -> Any:
        """Return the largest of every window."""
        n = x.ndim - 2
        taps, widths, apart = _each(kernel, n), _each(padding, n), _each(dilation, n)
        more: dict[str, Any] = {"ceil": True} if ceil else {}
        if set(apart) != {1}:
            more["dilation"] = apart
        steps = _each(stride, n) if stride else taps
        return self._first(self._on.max_pool(self._last(x), taps, steps, widths, **more))

    max_pool1d = max_pool3d = max_pool2d

    def avg_pool2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil: bool = False,
        border: bool = True,
        divisor: Any = None,
    ) -> Any:
        """Return the mean of every window, zeros outside included."""
        n = x.ndim - 2
        taps, widths = _each(kernel, n), _each(padding, n)
        if ceil or divisor is not None or (any(widths) and not border):
            raise ValueError("avg_pool: expected the full window's mean, without ceil_mode")
        steps = _each(stride, n) if stride else taps
        return self._first(self._on.avg_pool(self._last(x), taps, steps, widths))

    avg_pool1d = avg_pool3d = avg_pool2d

    def adaptive_avg_pool2d(self, x: Any, shape: Any) -> Any:
        """Return the mean of as many windows as `shape` says, where they are equal."""
        n = x.ndim - 2
        wanted = _each(shape, n)
        if any(have % want for have, want in zip(x.shape[2:], wanted, strict=True)):
            raise ValueError(f"adaptive_avg_pool: expected a divisor of {x.shape[2:]}, got {shape}")
        if set(wanted) == {1}:
            return self._on.mean(x, tuple(range(2, x.ndim)), True)
        taps = tuple(have // want for have, want in zip(x.shape[2:], wanted, strict=True))
        return self.avg_pool2d(x, taps)

    adaptive_avg_pool1d = adaptive_avg_pool3d = adaptive_avg_pool2d

    def _with(self, y: Any, bias: Any) -> Any:
        if bias is None:
            return y
        return y + self._on.reshape(bias, (1, -1, *(1,) * (y.ndim - 2)))

    def _last(self, x: Any) -> Any:
        return self._on.transpose(x, (0, *range(2, x.ndim), 1))

    def _first(self, x: Any) -> Any:
        return self._on.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def _each(value: Any, n: int) -> tuple[int, ...]:
    if isinstance(value, str):
        raise ValueError(f"padding: expected numbers, got {value!r}")
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return several * n if len(several) == 1 else several


# PyTorch's operations, by their names and with their arguments, over those of MLX or NumPy.
#
# Arrays are laid out as PyTorch has them, channels first; convolutions and pools are done channels
# last, where MLX has them, and what is moved there and back between two of them is not copied.

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
