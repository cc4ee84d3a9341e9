"""Repetitions of the reference that wait for each other, so that timing them times the work."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from metalbench.reference.compute import stream_of
from metalbench.reference.convert import to_mlx
from metalbench.workload import Workload

NO_GPU = (
    "MLX has no GPU here, and its times on a CPU do not compare with those of a GPU: there is no "
    "ratio; `pip install mlx` on a Mac with Apple silicon brings one that has"
)
_PER_GRAPH = 32


def reference_beside(kind: str, workload: Workload) -> tuple[Reference | None, tuple[str, ...]]:
    """The reference to time beside a device of that kind; None, and why, if there is none."""
    if kind == "metal" and stream_of(kind) != mx.gpu:
        return None, (NO_GPU,)
    return Reference(workload, kind=kind), ()


class Reference:
    """The reference on one workload; `reference(k)` runs it k times, one after the other.

    Inputs are copied to MLX once, in the run's own element type. Repetitions are chained because
    MLX overlaps independent ones: on its CPU by an explicit dependency, which costs nothing; on
    its GPU by one element of the first input that is rewritten (with its own value) behind the last
    output, for MLX orders GPU work by the buffers that it writes. The GPU is handed the next graph
    while it works on the last, so that it never waits for the host within a window.

    MLX's memory cache is emptied first: what earlier work left there is no part of this one's.
    """

    def __init__(self, workload: Workload, *, kind: str = "cpu") -> None:
        self._task = workload.task
        self._stream = stream_of(kind)
        self._depend = _by_data if kind == "metal" else _by_graph
        self._inputs = {name: to_mlx(each) for name, each in workload.inputs.items()}
        self._first = next(iter(self._inputs))
        mx.clear_cache()
        mx.eval(*self._inputs.values())

    @property
    def name(self) -> str:
        """What the candidate is compared with, as reports call it."""
        return self._task.baseline

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` dependent repetitions to completion."""
        inputs, results = dict(self._inputs), None
        with mx.stream(self._stream):
            for done in range(repetitions):
                if results is not None:
                    inputs[self._first] = self._depend(inputs[self._first], results)
                results = self._task.reference(**inputs, **self._task.constants)
                if (done + 1) % _PER_GRAPH == 0:
                    mx.async_eval(results)  # type: ignore[no-untyped-call]
            mx.eval(results)
            mx.synchronize(mx.default_stream(self._stream))


def _by_graph(array: mx.array, results: Any) -> mx.array:
    dependent: mx.array = mx.depends(array, results)
    return dependent


def _by_data(array: mx.array, results: Any) -> mx.array:
    result = results[0] if isinstance(results, (tuple, list)) else results
    written = result[(slice(1),) * result.ndim].reshape(1)
    flat = array.reshape(-1)
    # A choice between equals, not arithmetic: outputs may be infinite or NaN.
    head = mx.where(mx.equal(written, written), flat[:1], flat[:1])
    return mx.slice_update(flat, head, mx.array([0]), (0,)).reshape(array.shape)
