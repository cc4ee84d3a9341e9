"""Recurrent layers as PyTorch stacks them: LSTM and GRU, in one direction or both.

Sequences are (steps, batch, features); states (layers times directions, batch, hidden).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.kernelbench.problems.parameters import within

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
