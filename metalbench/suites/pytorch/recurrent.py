"""LSTM and GRU, by PyTorch's names and with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

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
