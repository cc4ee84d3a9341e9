"""Repetitions of the reference, one after the other, so that timing them times the work."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.measure.cache import last_level_cache_bytes
from metalbench.reference.compiler import evaluated, evaluated_as_compiled
from metalbench.reference.compute import TF32, stream_of
from metalbench.reference.convert import to_mlx, to_numpy
from metalbench.reference.forms import Form, forms_of, operations_of
from metalbench.task.declaration import ExternalReference
from metalbench.task.workload import Workload

_NO_GPU = (
    "MLX has no GPU here, and its times on a CPU do not compare with those of a GPU: there is no "
    "ratio; "
)
NO_GPU = {
    "metal": f"{_NO_GPU}`pip install mlx` on a Mac with Apple silicon brings one that has",
    "cuda": f"{_NO_GPU}`pip install 'mlx[cuda13]'` (or cuda12, as the driver is) brings one",
}
ROUNDED = (
    f"MLX multiplies matrices of float32 as TF32, with 10 bits of 23, because {TF32} says so; "
    f"unset it to compare float32 with float32"
)
# So many repetitions at most are handed to MLX as one graph: evaluating one has its own cost, which
# is then shared. And no more than take so much memory, for what lies in memory, not in a cache, is
# slow to write; two graphs are under way at a time.
MOST_IN_GRAPH = 16
BYTES_UNDER_WAY = 4 << 20
# On Metal, MLX ends a command buffer with every graph, and after 20 to 50 operations. A boundary
# costs some 20 us of GPU time (ml-explore/mlx#4521). So a graph has this much work where results do
# not stay in the cache, and two graphs take at most 1 / OF_WORKING_SET of the working set.
GRAPH_NS = 1.5e6
MOST_IN_METAL_GRAPH = 64
OF_WORKING_SET = 16
# Even with one repetition in a graph, MLX uses the memory of this number of results in turn.
RESULTS_IN_TURN = 3
TIMED_GRAPHS = 3


def create_reference(
    kind: str, workload: Workload, *, copies: int = 1, keeps: int = 0
) -> tuple[Reference | None, tuple[str, ...]]:
    """The reference to time beside a device of that kind; None, and why, if there is none."""
    if kind in NO_GPU and stream_of(kind) != mx.gpu:
        return None, (NO_GPU[kind],)
    reference = Reference(workload, kind=kind, copies=copies, keeps=keeps)
    tf32 = kind == "cuda" and os.environ[TF32] != "0" and workload.dtype.name == "float32"
    return reference, (ROUNDED,) if tf32 else ()


class Reference:
    """The reference on one workload; `reference(k)` runs it k times, one after the other.

    Inputs are copied to MLX once, in the run's own element type. Each repetition is put behind the
    one before, which orders them on MLX's CPU; MLX's GPU overlaps repetitions unless one reads what
    the one before it has written, and so it does, one element (docs/design/mlx-timing.md). MLX gets
    the next ones while it works on those before them; results are dropped as soon as they are
    there, so that the allocator reuses their memory.

    Several `copies` of the inputs take turns, from one call to the next. The last `keeps` outputs
    are kept, so that MLX's allocator takes turns with their memory. `form` is what is run. Beside a
    GPU every copy has been passed over by the time that it is loaded.

    MLX's memory cache is emptied first: what earlier work left there is no part of this one's.
    """

    def __init__(
        self, workload: Workload, *, kind: str = "cpu", copies: int = 1, keeps: int = 0
    ) -> None:
        if workload.task.apart is not None:
            workload.task.apart.beside(kind)
        self.forms = forms_of(workload.task)
        self.form = self.forms[0]
        self._stream = stream_of(kind)
        self._on_gpu = kind != "cpu"
        self._on_metal = kind == "metal"
        self._ends = read_ends if self._on_gpu else plain_ends
        self._turn = 0
        self._kept: deque[Any] = deque(maxlen=keeps)
        self._inputs: list[dict[str, mx.array]] = [{} for _ in range(copies)]
        self._taken: dict[str, int] = {}  # bytes of one repetition, by the kind of the form
        self._in_graph: dict[str, int] = {}
        mx.clear_cache()
        self.load(workload)

    def load(self, workload: Workload, *others: Workload) -> None:
        """Take the inputs of other seeds, by turns where there are several copies.

        Beside a GPU each is passed over, as `pass_over` says.
        """
        self.workload = workload
        self._works = [each.inputs for each in (workload, *others)]
        self._holds = ""
        for copy, work in zip(self._inputs, cycle((workload, *others)), strict=False):
            copy.update({name: to_mlx(each) for name, each in work.inputs.items()})
        mx.eval(*(each for copy in self._inputs for each in copy.values()))
        self.pass_over()

    def pass_over(self) -> None:
        """Beside a GPU, run once on every copy of the inputs; elsewhere do nothing.

        A GPU fetches what it has never touched from the host's memory, and MLX builds kernels when
        they are first asked for: a pass that waits for either takes up to a hundred times as long,
        and what is taken for a window's length by such a pass is none.
        """
        if self._on_gpu:
            self(len(self._inputs))

    @property
    def name(self) -> str:
        """What the candidate is compared with, as reports call it."""
        return self.form.name

    def outputs_of(self, form: Form) -> list[np.ndarray[Any, Any]]:
        """What a form makes of the inputs, in the run's own element type."""
        if form.apart is not None:
            return form.apart.outputs(self.workload.inputs)
        return [to_numpy(each) for each in self._run_once(form, self._inputs[0])]

    def operations_of(self, form: Form) -> list[str]:
        """What MLX would carry out for a form, by the names of its operations."""
        with mx.stream(self._stream):
            return operations_of(form, self._inputs[0])

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` to completion, one after the other."""
        if self.form.apart is not None:
            self._run_apart(self.form.apart, repetitions)
            return
        if repetitions == 1 and self.form.kind not in self._taken and not self._kept.maxlen:
            self._run_once(self.form, self._next_inputs())  # which is all that is asked for
            return
        with mx.stream(self._stream):
            in_graph = self._most_in_graph
            results = under_way = ends = None
            for done in range(1, repetitions + 1):
                inputs = self._next_inputs()
                if results is not None:
                    ends = self._ends(results, ends)
                    inputs = behind(inputs, ends)
                results = self.form.function(**inputs)
                self._kept.append(results)
                if done % in_graph == 0:
                    mx.async_eval(results)  # type: ignore[no-untyped-call]
                    if under_way is not None:
                        mx.eval(under_way)
                    under_way = results
            mx.eval(results)

    def _run_apart(self, apart: ExternalReference, repetitions: int) -> None:
        """By another library, whose inputs are of the first pass's making."""
        if self._holds != apart.name:
            apart.load(*self._works)
            self._holds = apart.name
        apart(repetitions)

    def _next_inputs(self) -> dict[str, mx.array]:
        inputs = self._inputs[self._turn]
        self._turn = (self._turn + 1) % len(self._inputs)
        return inputs

    @property
    def _most_in_graph(self) -> int:
        """How many repetitions are handed over at once, by the memory and the time of one."""
        kind = self.form.kind
        if kind not in self._in_graph:
            if kind not in self._taken:
                self._run_once(self.form, self._inputs[0])
            taken = self._taken[kind]
            self._in_graph[kind] = max(1, min(MOST_IN_GRAPH, BYTES_UNDER_WAY // (2 * taken)))
            if self._on_metal and RESULTS_IN_TURN * taken > last_level_cache_bytes(None):
                self._lengthen_metal_graph(taken)
        return self._in_graph[kind]

    def _lengthen_metal_graph(self, taken: int) -> None:
        """Lengthen graphs to `GRAPH_NS` of work, if one repetition takes `taken` bytes."""
        kind = self.form.kind
        # Older versions of MLX have the first only in `mx.metal`, newer ones deprecate that.
        info = mx.device_info(mx.gpu) if hasattr(mx, "device_info") else mx.metal.device_info()
        working_set = int(info["max_recommended_working_set_size"])
        most = min(MOST_IN_METAL_GRAPH, working_set // OF_WORKING_SET // (2 * taken))
        while (in_graph := self._in_graph[kind]) < most:
            elapsed_ns = math.inf
            for _ in range(TIMED_GRAPHS):
                begun = time.perf_counter_ns()
                self(in_graph)
                elapsed_ns = min(elapsed_ns, time.perf_counter_ns() - begun)
            wanted = int(in_graph * GRAPH_NS / elapsed_ns)
            if wanted <= in_graph:
                return
            # The fixed cost of a graph is a smaller part of a longer one: the next guess is closer.
            self._in_graph[kind] = min(most, wanted, 4 * in_graph)

    def _run_once(self, form: Form, inputs: Mapping[str, mx.array]) -> list[mx.array]:
        """A form's results; notes on the way how much memory they take at most."""
        with mx.stream(self._stream):
            before = mx.get_active_memory()
            mx.reset_peak_memory()
            compute = evaluated_as_compiled if form.kind == "compiled" else evaluated
            results = plain_ends(compute(partial(form.function, **inputs)), None)
            taken = max(1, mx.get_peak_memory() - before)
        self._taken[form.kind] = taken
        return results


def behind(inputs: Mapping[str, mx.array], ends: Sequence[mx.array]) -> dict[str, mx.array]:
    """`inputs`, for operations that MLX is to take up when it has taken up those of `ends`."""
    return dict(zip(inputs, mx.depends(list(inputs.values()), list(ends)), strict=True))


def plain_ends(results: Any, _: Sequence[mx.array] | None) -> list[mx.array]:
    """The last arrays of a repetition: its results."""
    return list(results) if isinstance(results, (tuple, list)) else [results]


def read_ends(results: Any, before: Sequence[mx.array] | None) -> list[mx.array]:
    """The last arrays of a repetition, on a GPU: one element of each result, read there.

    `before` are those of the repetition before, which are read as well. MLX lets what reads wait
    for what writes, and what comes after it in one command buffer with it.
    """
    elements = [each[(slice(1),) * each.ndim] for each in plain_ends(results, None)]
    pairs = zip(elements if before is None else before, elements, strict=True)
    # Its value is nobody's; it is one kernel, and none is needed for the element type.
    return [mx.maximum(earlier, later) for earlier, later in pairs]
