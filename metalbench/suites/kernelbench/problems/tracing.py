"""Trace bodies of problems without values, and run them on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import DeclarationError
from metalbench.suites.kernelbench.problems import on_mlx
from metalbench.suites.kernelbench.problems.layers import Costs, Layers
from metalbench.suites.kernelbench.problems.parameters import Initial
from metalbench.task import Input
from metalbench.task.declaration import Sizes

Body = Callable[..., Any]
# What inputs, parameters and outputs may come to together; of what is more the batch is cut.
MOST_BYTES = 2 << 30


@dataclass(frozen=True)
class Trace:
    """The result of tracing one size: parameters with initialisation, shapes, costs."""

    parameters: Mapping[str, tuple[tuple[int, ...], Initial]]
    outputs: tuple[tuple[int, ...], ...]
    costs: Costs


@dataclass(frozen=True)
class Problem:
    """A body and its inputs; traces of it are kept."""

    name: str
    body: Body
    inputs: Mapping[str, Input]
    sizes: Sizes
    traces: dict[tuple[int, ...], Trace] = field(default_factory=dict)
    known: dict[tuple[tuple[int, ...], ...], dict[str, int]] = field(default_factory=dict)

    def trace(self, values: Mapping[str, int]) -> Trace:
        """Run the body on arrays without values; raises DeclarationError where no shapes fit."""
        sizes = {name: values[name] for name in self.sizes["small"]}
        key = tuple(sizes.values())
        if key not in self.traces:
            try:
                self.traces[key] = self._trace(sizes)
            except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
                raise DeclarationError(f"[{self.name}] {sizes}: no shapes fit: {error}") from error
            shapes = (*self._shapes(values), *(s for s, _ in self.traces[key].parameters.values()))
            self.known[shapes] = sizes
        return self.traces[key]

    def _shapes(self, values: Mapping[str, int]) -> list[tuple[int, ...]]:
        return [each.shape_at(values) for each in self.inputs.values()]

    def _trace(self, sizes: Mapping[str, int]) -> Trace:
        found: dict[str, tuple[tuple[int, ...], Initial]] = {}

        def make(name: str, shape: tuple[int, ...], initial: Initial) -> mx.array:
            found[name] = shape, initial
            return mx.zeros(shape)

        with mx.stream(mx.cpu):
            nn = Layers(on_mlx, sizes, make=make)
            shapes = zip(self.inputs.items(), self._shapes(sizes), strict=True)
            results = self.body(nn, **{name: _blank(each, shape) for (name, each), shape in shapes})
        several = results if isinstance(results, tuple) else (results,)
        return Trace(found, tuple(tuple(each.shape) for each in several), nn.costs)

    def run(self, on: ModuleType, arrays: Mapping[str, Any]) -> Any:
        """Run the body on inputs and parameters of MLX or NumPy."""
        shapes = tuple(tuple(each.shape) for each in arrays.values())
        if shapes not in self.known:
            for extents in self.sizes.values():
                self.trace(extents)
        if shapes not in self.known:
            raise DeclarationError(f"[{self.name}] no size has arrays of the shapes {shapes}")
        inputs = {name: arrays[name] for name in self.inputs}
        return self.body(Layers(on, self.known[shapes], arrays), **inputs)

    def bytes(self, values: Mapping[str, int]) -> int:
        """Return the bytes of inputs, parameters and outputs in float32."""
        trace = self.trace(values)
        shapes = [*self._shapes(values), *(s for s, _ in trace.parameters.values())]
        return sum(4 * int(np.prod(each, dtype=np.int64)) for each in (*shapes, *trace.outputs))


def cut_to_fit(known: Problem, paper: Mapping[str, int], name: str) -> Mapping[str, int]:
    """As much of `name` as keeps all arrays within `MOST_BYTES`, at least one."""
    whole = known.bytes(paper)
    if whole <= MOST_BYTES or name not in paper:
        return paper
    fixed = 2 * known.bytes({**paper, name: paper[name] // 2}) - whole
    share = (MOST_BYTES - fixed) / (whole - fixed) if whole > fixed else 1.0
    return {**paper, name: max(1, int(paper[name] * share))} if share > 0 else paper


def _blank(each: Input, shape: tuple[int, ...]) -> mx.array:
    kind = "float32" if each.dtype is None else each.dtype.name
    return mx.zeros(shape, dtype=getattr(mx, "bool_" if kind == "bool" else kind))
