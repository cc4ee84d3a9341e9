"""Repetitions of the reference that wait for each other, so that timing them times the work."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from metalbench.reference.compute import stream_of
from metalbench.reference.convert import to_mlx
from metalbench.workload import Workload

_PER_GRAPH = 32


class Reference:
    """The reference on one workload; `reference(k)` runs it k times, one after the other.

    Inputs are copied to MLX once, in the run's own element type. Repetitions are chained because
    MLX overlaps independent ones: on its CPU by an explicit dependency, which costs nothing; on
    its GPU by one element of the first input that is rewritten (with its own value) from the last
    output, for MLX orders GPU work by the buffers that it writes.
    """

    def __init__(self, workload: Workload, *, kind: str = "cpu") -> None:
        self._task = workload.task
        self._stream = stream_of(kind)
        self._depend = _by_data if kind == "metal" else _by_graph
        self._inputs = {name: to_mlx(each) for name, each in workload.inputs.items()}
        self._first = next(iter(self._inputs))
        mx.eval(*self._inputs.values())

    @property
    def name(self) -> str:
        """What the candidate is compared with, as reports call it."""
        return self._task.baseline

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` dependent repetitions to completion."""
        with mx.stream(self._stream):
            while repetitions > 0:
                count = min(repetitions, _PER_GRAPH)
                mx.eval(self._graph(count))
                repetitions -= count

    def _graph(self, count: int) -> Any:
        inputs = dict(self._inputs)
        results = self._task.reference(**inputs, **self._task.constants)
        for _ in range(count - 1):
            inputs[self._first] = self._depend(inputs[self._first], results)
            results = self._task.reference(**inputs, **self._task.constants)
        return results


def _by_graph(array: mx.array, results: Any) -> mx.array:
    dependent: mx.array = mx.depends(array, results)
    return dependent


def _by_data(array: mx.array, results: Any) -> mx.array:
    first = results[0] if isinstance(results, (tuple, list)) else results
    nothing = (first.reshape(-1)[:1] * 0).astype(array.dtype)
    flat = array.reshape(-1)
    return mx.slice_update(flat, flat[:1] + nothing, mx.array([0]), (0,)).reshape(array.shape)
