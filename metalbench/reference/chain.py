"""Repetitions of the reference that wait for each other, so that timing them times the work."""

from __future__ import annotations

from collections import deque
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.reference.compute import stream_of
from metalbench.reference.convert import to_mlx, to_numpy
from metalbench.reference.forms import Form, forms_of
from metalbench.task.workload import Workload

NO_GPU = (
    "MLX has no GPU here, and its times on a CPU do not compare with those of a GPU: there is no "
    "ratio; `pip install mlx` on a Mac with Apple silicon brings one that has"
)
_PER_GRAPH = 32


def reference_beside(
    kind: str, workload: Workload, *, copies: int = 1
) -> tuple[Reference | None, tuple[str, ...]]:
    """The reference to time beside a device of that kind; None, and why, if there is none."""
    if kind == "metal" and stream_of(kind) != mx.gpu:
        return None, (NO_GPU,)
    return Reference(workload, kind=kind, copies=copies), ()


class Reference:
    """The reference on one workload; `reference(k)` runs it k times, one after the other.

    Inputs are copied to MLX once, in the run's own element type. Repetitions are chained because
    MLX overlaps independent ones: on its CPU by an explicit dependency, which costs nothing; on
    its GPU by one element of the first input that is rewritten (with its own value) behind the last
    output, for MLX orders GPU work by the buffers that it writes. The GPU is handed the next graph
    while it works on the last, so that it never waits for the host within a window.

    Several `copies` of the inputs take turns, from one call to the next; as many outputs are kept,
    so that MLX's allocator takes turns with theirs. `form` is what is run.

    MLX's memory cache is emptied first: what earlier work left there is no part of this one's.
    """

    def __init__(self, workload: Workload, *, kind: str = "cpu", copies: int = 1) -> None:
        self.forms = forms_of(workload.task)
        self.form = self.forms[0]
        self._stream = stream_of(kind)
        self._depend = _by_data if kind == "metal" else _by_graph
        self._turn = 0
        self._kept: deque[Any] = deque(maxlen=copies if copies > 1 else 0)
        self._inputs: list[dict[str, mx.array]] = [{} for _ in range(copies)]
        self._first = next(iter(workload.inputs))
        mx.clear_cache()
        self.load(workload)

    def load(self, workload: Workload) -> None:
        """Take the inputs of another seed."""
        self.workload = workload
        for copy in self._inputs:
            copy.update({name: to_mlx(each) for name, each in workload.inputs.items()})
        mx.eval(*(each for copy in self._inputs for each in copy.values()))

    @property
    def name(self) -> str:
        """What the candidate is compared with, as reports call it."""
        return self.form.name

    def outputs_of(self, form: Form) -> list[np.ndarray[Any, Any]]:
        """What a form makes of the inputs, in the run's own element type."""
        with mx.stream(self._stream):
            results = form.function(**self._inputs[0])
            several = results if isinstance(results, (tuple, list)) else (results,)
            mx.eval(several)
        return [to_numpy(each) for each in several]

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` dependent repetitions to completion."""
        results = None
        with mx.stream(self._stream):
            for done in range(repetitions):
                inputs = self._inputs[self._turn]
                self._turn = (self._turn + 1) % len(self._inputs)
                if results is not None:
                    # Put back, or MLX would copy the whole input instead of rewriting one element.
                    inputs[self._first] = self._depend(inputs[self._first], results)
                results = self.form.function(**inputs)
                self._kept.append(results)
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
