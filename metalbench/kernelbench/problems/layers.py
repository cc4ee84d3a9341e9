"""Layers of neural networks for the bodies of problems, over operations on arrays.

A body is written once, as PyTorch's module is, and runs on MLX (the reference), on NumPy in float64
(the oracle) and on MLX's lazy arrays without values (a trace: shapes, parameters and costs). Images
are channels last, filters (filters, taps..., channels of a group), also of transposed convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from metalbench.kernelbench.problems.parameters import (
    Initial,
    WindowGeometry,
    bias_within,
    constant,
    randn,
    within,
)

Extents = int | Sequence[int]
# Operations that move nothing.
VIEWS = ("reshape", "swapped", "transpose", "part", "given", "triangle", "zeros", "full")


@dataclass
class Costs:
    """The cost of a body.

    `products` counts 2 for each multiplication and addition of products of matrices and of
    convolutions; `elements` what all other steps read or write, whichever is more; `largest` is the
    largest array in elements, `statistics` the channels whose running statistics PyTorch keeps, and
    a count for each norm.
    """

    products: int = 0
    elements: int = 0
    largest: int = 0
    statistics: int = 0


class Layers:
    """The layers; every function of the module `on` is one too: `nn.relu(x)`. Sizes are attributes.

    Parameters are found in `arrays` by name, or made by `make`, which a trace does.
    """

    def __init__(
        self,
        on: Any,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any] | None = None,
        make: Callable[[str, tuple[int, ...], Initial], Any] | None = None,
    ) -> None:
        self._on = on
        self._sizes = sizes
        self._arrays = arrays or {}
        self._make = make
        self.costs = Costs()

    def __getattr__(self, name: str) -> Any:
        sizes = self.__dict__["_sizes"]
        if name in sizes:
            return sizes[name]
        operation = getattr(self.__dict__["_on"], name, None)
        if operation is None:
            raise AttributeError(f"no layer, no operation and no size {name!r}")
        return operation if name in VIEWS else partial(self._count, operation)

    def parameter(self, name: str, shape: Sequence[int], initial: Initial) -> Any:
        """Return the learned parameter `name`, as the task calls it."""
        argument = name.replace(".", "_")
        if self._make is not None:
            return self._make(argument, tuple(shape), initial)
        return self._arrays[argument]

    def constant(self, name: str, value: float, *shape: int) -> Any:
        """Return a parameter that begins as one number, of one element without `shape`."""
        return self.parameter(name, shape or (1,), constant(value))

    def normal(self, name: str, *shape: int, deviation: float = 1.0) -> Any:
        """Return a parameter that begins normal, of one element without `shape`."""
        return self.parameter(name, shape or (1,), randn(deviation))

    def linear(self, x: Any, name: str, features: int, *, bias: bool = True) -> Any:
        """X W^T + b over the last axis; W is (features, of x)."""
        inner = x.shape[-1]
        bound = 1 / math.sqrt(inner)
        w = self.parameter(f"{name}.weight", (features, inner), within(bound))
        y = self.matmul(x, self._on.swapped(w))
        if bias:
            y = y + self.parameter(f"{name}.bias", (features,), bias_within(bound))
        return y

    def conv(
        self,
        x: Any,
        name: str,
        filters: int,
        kernel: Extents,
        *,
        stride: Extents = 1,
        padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        bias: bool = True,
        initial: Initial | None = None,
    ) -> Any:
        """Return a convolution in as many dimensions as `x` has."""
        taps = self._each(kernel, x)
        inner = x.shape[-1] // groups
        bound = 1 / math.sqrt(inner * math.prod(taps))
        w = self.parameter(f"{name}.weight", (filters, *taps, inner), initial or within(bound))
        along = self._each
        steps = WindowGeometry(along(stride, x), along(padding, x), along(dilation, x), groups)
        y = self._on.convolution(x, w, steps)
        self.costs.products += 2 * math.prod(y.shape) * inner * math.prod(taps)
        self._note(y)
        if bias:
            y = y + self.parameter(f"{name}.bias", (filters,), bias_within(bound))
        return y

    def conv_transpose(
        self,
        x: Any,
        name: str,
        filters: int,
        kernel: Extents,
        *,
        stride: Extents = 1,
        padding: Extents = 0,
        output_padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> Any:
        """A transposed convolution: (n - 1) stride - 2 padding + dilation (k - 1) + 1 + more."""
        taps = self._each(kernel, x)
        inner, of_group = x.shape[-1] // groups, filters // groups
        bound = 1 / math.sqrt(of_group * math.prod(taps))
        w = self.parameter(f"{name}.weight", (filters, *taps, inner), within(bound))
        along = self._each
        more = along(output_padding, x)
        steps = WindowGeometry(
            along(stride, x), along(padding, x), along(dilation, x), groups, more
        )
        y = self._on.transposed_convolution(x, w, steps)
        self.costs.products += 2 * math.prod(x.shape) * of_group * math.prod(taps)
        self._note(y)
        if bias:
            y = y + self.parameter(f"{name}.bias", (filters,), bias_within(bound))
        return y

    def matmul(self, a: Any, b: Any) -> Any:
        """Return a product of matrices, with leading axes as they broadcast."""
        y = self._on.product(a, b)
        self.costs.products += 2 * math.prod(y.shape) * a.shape[-1]
        self._note(y)
        return y

    def affine(self, x: Any, name: str, *shape: int) -> Any:
        """Return x times a weight (initially one) plus a bias (initially zero)."""
        weight = self.parameter(f"{name}.weight", shape, constant(1))
        return x * weight + self.parameter(f"{name}.bias", shape, constant(0))

    def batch_norm(self, x: Any, name: str, eps: float = 1e-5) -> Any:
        """Normalised by the statistics of this batch, channel by channel."""
        self.costs.statistics += 2 * x.shape[-1] + 2
        y = self.norm(x, tuple(range(x.ndim - 1)), eps)
        return self.affine(y, name, x.shape[-1])

    def instance_norm(self, x: Any, eps: float = 1e-5) -> Any:
        """Over the pixels of every image and channel, without parameters."""
        return self.norm(x, tuple(range(1, x.ndim - 1)), eps)

    def group_norm(self, x: Any, name: str, groups: int, eps: float = 1e-5) -> Any:
        """Over the pixels and channels of every group of an image."""
        batch, *pixels, channels = x.shape
        split = self._on.reshape(x, (batch, math.prod(pixels), groups, channels // groups))
        y = self._on.reshape(self.norm(split, (1, 3), eps), x.shape)
        return self.affine(y, name, channels)

    def layer_norm(self, x: Any, name: str, axis: int = -1, eps: float = 1e-5) -> Any:
        """Over one axis, with a weight and a bias for each of its places."""
        y = self.norm(x, (axis,), eps)
        shape = [1] * (-axis)
        shape[0] = x.shape[axis]
        weight = self.parameter(f"{name}.weight", shape[:1], constant(1))
        bias = self.parameter(f"{name}.bias", shape[:1], constant(0))
        return y * self._on.reshape(weight, shape) + self._on.reshape(bias, shape)

    def _count(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Carry out a step: it costs as many elements as it reads of one array, or writes."""
        y = operation(*arguments, **options)
        arrays = [each for each in (y, *arguments) if hasattr(each, "shape")]
        self.costs.elements += max(math.prod(each.shape) for each in arrays)
        self._note(y)
        return y

    def norm(self, x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
        """Minus the mean, over the root of the population variance and `eps`."""
        self.costs.elements += math.prod(x.shape)
        self._note(x)
        return self._on.normalized(x, axes, eps)

    def _note(self, y: Any) -> None:
        self.costs.largest = max(self.costs.largest, math.prod(y.shape))

    @staticmethod
    def _each(extents: Extents, x: Any) -> tuple[int, ...]:
        """Return one number for each axis of pixels of `x`."""
        if isinstance(extents, int):
            return (extents,) * int(x.ndim - 2)
        return tuple(int(each) for each in extents)


# Swin networks: blocks over windows of 7 x 7 tokens; images are channels last.

WINDOW = 7
SHIFT = WINDOW // 2


def windows_of(nn: Layers, x: Any) -> Any:
    """(batch, height, width, channels) as (windows, tokens, channels)."""
    batch, height, width, channels = x.shape
    down, across = height // WINDOW, width // WINDOW
    split = nn.reshape(x, (batch, down, WINDOW, across, WINDOW, channels))
    tokens = WINDOW * WINDOW
    return nn.reshape(
        nn.transpose(split, (0, 1, 3, 2, 4, 5)), (batch * down * across, tokens, channels)
    )


def image_of(nn: Layers, x: Any, height: int, width: int) -> Any:
    """Undo `windows_of`."""
    down, across, channels = height // WINDOW, width // WINDOW, x.shape[-1]
    batch = x.shape[0] // (down * across)
    split = nn.reshape(x, (batch, down, across, WINDOW, WINDOW, channels))
    return nn.reshape(nn.transpose(split, (0, 1, 3, 2, 4, 5)), (batch, height, width, channels))


def parities(nn: Layers, x: Any) -> Any:
    """Every four pixels as one of four times the channels: (0, 0), (1, 0), (0, 1), (1, 1)."""
    corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
    return nn.concat(corners, -1)


def mlp(nn: Layers, x: Any, name: str) -> Any:
    """Two linear layers, four times as wide between."""
    channels = x.shape[-1]
    y = nn.gelu(nn.linear(x, f"{name}fc1", 4 * channels))
    return nn.linear(y, f"{name}fc2", channels)


def spatial_mlp_block(nn: Layers, x: Any, name: str, heads: int, *, shifted: bool) -> Any:
    """Return SwinMLP's block: one product per head over the tokens of a window."""
    channels = x.shape[-1]
    y = nn.layer_norm(x, f"{name}norm1")
    if shifted:
        border = (WINDOW - SHIFT, SHIFT)
        y = nn.pad(y, [(0, 0), border, border, (0, 0)])
    tall, wide = y.shape[1:3]
    inside = windows_of(nn, y)
    tokens, dims = WINDOW * WINDOW, channels // heads
    split = nn.transpose(nn.reshape(inside, (-1, tokens, heads, dims)), (0, 2, 1, 3))
    bound = within(1 / math.sqrt(tokens))
    w = nn.parameter(f"{name}spatial_mlp.weight", (heads * tokens, 1, tokens), bound)
    b = nn.parameter(f"{name}spatial_mlp.bias", (heads * tokens,), bound)
    w = nn.reshape(w, (heads, tokens, tokens))
    mixed = nn.matmul(w, split) + nn.reshape(b, (heads, tokens, 1))
    mixed = nn.reshape(nn.transpose(mixed, (0, 2, 1, 3)), (-1, tokens, channels))
    y = image_of(nn, mixed, tall, wide)
    if shifted:
        y = y[:, WINDOW - SHIFT : tall - SHIFT, WINDOW - SHIFT : wide - SHIFT]
    x = x + y
    return x + mlp(nn, nn.layer_norm(x, f"{name}norm2"), f"{name}mlp.")


def attention_block(nn: Layers, x: Any, name: str, heads: int, *, shifted: bool) -> Any:
    """Swin's second version: cosine attention within windows, norms behind."""
    height, width = x.shape[1:3]
    y = nn.roll(x, (-SHIFT, -SHIFT), (1, 2)) if shifted else x
    mask = _mask(height, width) if shifted else None
    y = image_of(nn, _attention(nn, windows_of(nn, y), f"{name}attn.", heads, mask), height, width)
    y = nn.roll(y, (SHIFT, SHIFT), (1, 2)) if shifted else y
    x = x + nn.layer_norm(y, f"{name}norm1")
    return x + nn.layer_norm(mlp(nn, x, f"{name}mlp."), f"{name}norm2")


def _attention(nn: Layers, x: Any, name: str, heads: int, mask: Any) -> Any:
    count, tokens, channels = x.shape
    dims = channels // heads
    initial: Initial = constant(math.log(10))
    scale = nn.parameter(f"{name}logit_scale", (heads, 1, 1), initial)
    biases = [nn.constant(f"{name}{each}_bias", 0, channels) for each in "qv"]
    w = nn.parameter(f"{name}qkv.weight", (3 * channels, channels), within(1 / channels**0.5))
    qkv = nn.matmul(x, nn.swapped(w))
    parts = [qkv[..., i * channels : (i + 1) * channels] for i in range(3)]
    parts[0], parts[2] = parts[0] + biases[0], parts[2] + biases[1]
    q, k, v = (
        nn.transpose(nn.reshape(each, (count, tokens, heads, dims)), (0, 2, 1, 3)) for each in parts
    )
    logits = nn.matmul(_unit(nn, q), nn.swapped(_unit(nn, k)))
    logits = logits * nn.exp(nn.minimum(scale, math.log(100)))
    logits = logits + _position_bias(nn, name, heads)
    if mask is not None:
        grouped = nn.reshape(logits, (-1, mask.shape[0], heads, tokens, tokens))
        logits = nn.reshape(grouped + nn.given(mask[:, None]), logits.shape)
    mixed = nn.transpose(nn.matmul(nn.softmax(logits, -1), v), (0, 2, 1, 3))
    return nn.linear(nn.reshape(mixed, (count, tokens, channels)), f"{name}proj", channels)


def _unit(nn: Layers, x: Any) -> Any:
    return x / nn.maximum(nn.root_of_squares(x, -1, keep=True), 1e-12)


def _position_bias(nn: Layers, name: str, heads: int) -> Any:
    """16 sigmoid of a small network of the distance of two tokens: (heads, tokens, tokens)."""
    side = 2 * WINDOW - 1
    inner = nn.relu(nn.linear(nn.given(_coordinates()), f"{name}cpb_mlp.0", 512))
    table = nn.linear(inner, f"{name}cpb_mlp.2", heads, bias=False)
    rows = nn.taken(nn.reshape(table, (side * side, heads)), _index().reshape(-1))
    tokens = WINDOW * WINDOW
    return 16 * nn.sigmoid(nn.transpose(nn.reshape(rows, (tokens, tokens, heads)), (2, 0, 1)))


def _coordinates() -> np.ndarray[Any, Any]:
    """Distances of -6..6 on a logarithmic scale: (1, 13, 13, 2)."""
    offsets = np.arange(-(WINDOW - 1), WINDOW)
    both = 8 * np.stack(np.meshgrid(offsets, offsets, indexing="ij"), -1)[None] / (WINDOW - 1)
    return np.asarray(np.sign(both) * np.log2(np.abs(both) + 1) / math.log2(8))


def _index() -> np.ndarray[Any, Any]:
    """Return the row of the table for the distance of two tokens."""
    places = np.stack(np.meshgrid(*[np.arange(WINDOW)] * 2, indexing="ij")).reshape(2, -1)
    apart = places[:, :, None] - places[:, None] + WINDOW - 1
    return np.asarray(apart[0] * (2 * WINDOW - 1) + apart[1])


def _mask(height: int, width: int) -> np.ndarray[Any, Any]:
    """-100 between tokens that only the roll has brought together: (windows, tokens, tokens)."""
    regions = np.zeros((height, width))
    cuts = (slice(0, -WINDOW), slice(-WINDOW, -SHIFT), slice(-SHIFT, None))
    for i, rows in enumerate(cuts):
        for j, cols in enumerate(cuts):
            regions[rows, cols] = 3 * i + j
    split = regions.reshape(height // WINDOW, WINDOW, width // WINDOW, WINDOW)
    tokens = split.transpose(0, 2, 1, 3).reshape(-1, WINDOW * WINDOW)
    return np.where(tokens[:, None] == tokens[:, :, None], 0.0, -100.0)


# Recurrent layers as PyTorch stacks them: LSTM and GRU, in one direction or both.
#
# Sequences are (steps, batch, features); states (layers times directions, batch, hidden).

Cell = Callable[[Layers, Any, Any, tuple[Any, ...], Any], tuple[Any, ...]]


def lstm(
    nn: Layers, x: Any, state: tuple[Any, Any], *, layers: int, both_ways: bool = False
) -> tuple[Any, Any, Any]:
    """Return the last layer's outputs, and the final hidden and cell states of every layer."""
    y, (h, c) = _stack_layers(nn, x, state, "lstm", _lstm_cell, 4, layers, both_ways)
    return y, h, c


def gru(nn: Layers, x: Any, h0: Any, *, layers: int, both_ways: bool = False) -> tuple[Any, Any]:
    """Return the last layer's outputs, and the final hidden state of every layer."""
    y, (h,) = _stack_layers(nn, x, (h0,), "gru", _gru_cell, 3, layers, both_ways)
    return y, h


def _stack_layers(  # noqa: PLR0917
    nn: Layers,
    x: Any,
    state: tuple[Any, ...],
    name: str,
    cell: Cell,
    gates: int,
    layers: int,
    both_ways: bool,
) -> tuple[Any, tuple[Any, ...]]:
    ends: list[tuple[Any, ...]] = []
    for layer in range(layers):
        outputs = []
        for suffix in ("", "_reverse")[: 1 + both_ways]:
            begin = tuple(nn.part(each, len(ends)) for each in state)
            suffixed = f"{name}.{{}}_l{layer}{suffix}"
            y, end = _one_way(nn, x, begin, suffixed, cell, gates, backwards=bool(suffix))
            outputs.append(y)
            ends.append(end)
        x = nn.concat(outputs, -1) if both_ways else outputs[0]
    return x, tuple(nn.stack([end[i] for end in ends], 0) for i in range(len(state)))


def _one_way(  # noqa: PLR0917
    nn: Layers,
    x: Any,
    state: tuple[Any, ...],
    name: str,
    cell: Cell,
    gates: int,
    *,
    backwards: bool,
) -> tuple[Any, tuple[Any, ...]]:
    """Return one layer in one direction: all steps' inputs are multiplied at once."""
    hidden, inner = state[0].shape[-1], x.shape[-1]
    even = within(1 / math.sqrt(hidden))
    w_in = nn.parameter(name.format("weight_ih"), (gates * hidden, inner), even)
    w = nn.parameter(name.format("weight_hh"), (gates * hidden, hidden), even)
    b_in = nn.parameter(name.format("bias_ih"), (gates * hidden,), even)
    b = nn.parameter(name.format("bias_hh"), (gates * hidden,), even)
    inputs = nn.matmul(x, nn.swapped(w_in)) + b_in
    steps = range(x.shape[0])
    outputs = []
    for step in reversed(steps) if backwards else steps:
        before = nn.matmul(state[0], nn.swapped(w)) + b
        state = cell(nn, inputs[step], before, state, hidden)
        outputs.append(state[0])
    return nn.stack(outputs[::-1] if backwards else outputs, 0), state


def _lstm_cell(
    nn: Layers, inputs: Any, before: Any, state: tuple[Any, ...], hidden: Any
) -> tuple[Any, ...]:
    summed = inputs + before
    i, f, g, o = (summed[:, k * hidden : (k + 1) * hidden] for k in range(4))
    c = nn.sigmoid(f) * state[1] + nn.sigmoid(i) * nn.tanh(g)
    return nn.sigmoid(o) * nn.tanh(c), c


def _gru_cell(
    nn: Layers, inputs: Any, before: Any, state: tuple[Any, ...], hidden: Any
) -> tuple[Any, ...]:
    r, z, n = (inputs[:, k * hidden : (k + 1) * hidden] for k in range(3))
    hr, hz, hn = (before[:, k * hidden : (k + 1) * hidden] for k in range(3))
    update = nn.sigmoid(z + hz)
    new = nn.tanh(n + nn.sigmoid(r + hr) * hn)
    return ((1 - update) * new + update * state[0],)


# Mamba's second version: a linear recurrence, in chunks by products of matrices.
#
# h_t = exp(A_t) h_{t-1} + B_t x_t, y_t = C_t h_t for each head; x (batch, steps, heads, dims), A
# (batch, steps, heads), B and C (batch, steps, heads, state).


def scan_chunks(nn: Layers, x: Any, a: Any, b: Any, c: Any, *, chunk: int) -> tuple[Any, Any]:
    """Return all outputs, None without `c`, and the last state (batch, heads, dims, state)."""
    x, b, a = (_split(nn, each, chunk) for each in (x, b, a[..., None]))
    sums = nn.cumsum(a[..., 0], -1)
    end = sums[..., -1:]
    states = nn.matmul(nn.swapped(x), b * nn.exp(end - sums)[..., None])
    states = _carry(nn, states, end[..., 0])
    if c is None:
        return None, states[:, :, -1]
    c = _split(nn, c, chunk)
    decay = nn.exp(_segment_sums(nn, sums))
    within = nn.matmul(nn.matmul(c, nn.swapped(b)) * decay, x)
    before = nn.matmul(c, nn.swapped(states[:, :, :-1])) * nn.exp(sums)[..., None]
    return _join(nn, within + before), states[:, :, -1]


def step_by_step(nn: Layers, x: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the same by its definition."""
    batch, steps, heads, dims = x.shape
    state = nn.zeros((batch, heads, dims, b.shape[-1]))
    outputs = []
    for t in range(steps):
        state = nn.exp(a[:, t])[..., None, None] * state + x[:, t, :, :, None] * b[:, t, :, None]
        if c is not None:
            outputs.append(nn.matmul(state, c[:, t, :, :, None])[..., 0])
    return nn.stack(outputs, 1) if outputs else None, state


def _split(nn: Layers, x: Any, chunk: int) -> Any:
    """(batch, heads, chunks, steps of a chunk, more)."""
    batch, steps, heads, more = x.shape
    split = nn.reshape(x, (batch, steps // chunk, chunk, heads, more))
    return nn.transpose(split, (0, 3, 1, 2, 4))


def _join(nn: Layers, x: Any) -> Any:
    batch, heads, chunks, chunk, more = x.shape
    return nn.reshape(nn.transpose(x, (0, 2, 3, 1, 4)), (batch, chunks * chunk, heads, more))


def _segment_sums(nn: Layers, sums: Any) -> Any:
    """Sums of what lies between two steps; minus infinity where the second one is not behind."""
    apart = sums[..., :, None] - sums[..., None, :]
    return nn.where(nn.triangle(sums.shape[-1]) > 0, apart, -math.inf)


def _carry(nn: Layers, states: Any, totals: Any) -> Any:
    """States before every chunk, and behind the last one: (batch, heads, chunks + 1, ...)."""
    batch, heads, chunks, dims, more = states.shape
    zero = nn.zeros((batch, heads, 1, dims, more))
    states = nn.concat([zero, states], 2)
    padded = nn.concat([nn.zeros((batch, heads, 1)), nn.cumsum(totals, -1)], -1)
    decay = nn.exp(_segment_sums(nn, padded))
    flat = nn.reshape(states, (batch, heads, chunks + 1, dims * more))
    return nn.reshape(nn.matmul(decay, flat), states.shape)
