"""The forms of a reference: eager, compiled, MLX's fast function, and another library's."""

from __future__ import annotations

import io
import math
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.devices import find_kind
from metalbench.measure.device_limits import last_level_cache_bytes
from metalbench.mlx.simulation import compiling
from metalbench.reference.evaluate import (
    TF32,
    check_compiler,
    evaluate,
    evaluate_compiled,
    lacks_operation,
    select_stream,
    to_mlx,
    to_numpy,
)
from metalbench.task import Task
from metalbench.task.declaration import ExternalReference
from metalbench.task.workload import Workload, workload


@dataclass(frozen=True)
class Form:
    """One way to compute the reference: `function` takes the inputs by name.

    `kind` is "eager", "compiled", "fast" or "apart", as in a task's `against`. A form of another
    library has `apart` instead of a function of MLX arrays.
    """

    kind: str
    name: str
    function: Callable[..., Any]
    apart: ExternalReference | None = None


def _on_one_element(**inputs: mx.array) -> mx.array:
    first = next(iter(inputs.values()))
    element = first[(slice(1),) * first.ndim]
    return mx.maximum(element, element)


# Not a form of a reference: the least work that MLX can do with the same inputs.
ON_ONE_ELEMENT = Form("one element", "an operation on one element", _on_one_element)


# An operation in MLX's drawing of a graph.
_OPERATION = re.compile(r'label ?="([^"]*)", shape=rectangle')


def operations_of(form: Form, inputs: Mapping[str, mx.array]) -> list[str]:
    """Return the operations of MLX's graph of `form` in order, without running them."""
    results = form.function(**inputs)
    drawn = io.StringIO()
    mx.export_to_dot(drawn, *(results if isinstance(results, (tuple, list)) else [results]))
    return _OPERATION.findall(drawn.getvalue())


def list_forms(task: Task) -> tuple[Form, ...]:
    """Return all forms of a task's reference, the eager one first.

    The compiled form is left out if the task's `against` does not name it. MLX compiles graphs of
    thousands of operations for minutes, and cannot compile a reference that leaves MLX.
    """
    forms = [Form("eager", task.baseline, partial(task.reference, **task.constants))]
    if "compiled" in task.against:
        forms.append(Form("compiled", f"mx.compile: {task.baseline}", _compile_form(task)))
    if task.fast is not None:
        forms.append(Form("fast", "mx.fast", partial(task.fast, **task.constants)))
    if task.apart is not None:
        forms.append(Form("apart", task.apart.name, task.reference, task.apart))
    return tuple(forms)


def _compile_form(task: Task) -> Callable[..., Any]:
    """Compile the reference with its constants in the graph, as a user would."""
    names = list(task.inputs)

    def positional(*arrays: mx.array) -> Any:
        return task.reference(**dict(zip(names, arrays, strict=True)), **task.constants)

    compiled = mx.compile(positional)

    def by_name(**arrays: mx.array) -> Any:
        check_compiler()
        # Compile also in a process that uses patch_mlx.
        with compiling():
            return compiled(*(arrays[name] for name in names))

    return by_name


# Run repetitions of the reference one after the other, so that their time is the work's.

_NO_GPU = (
    "MLX has no GPU here, and its times on a CPU do not compare with those of a GPU: there is no "
    "ratio; "
)
NO_GPU = {
    "metal": f"{_NO_GPU}`pip install mlx` on a Mac with Apple silicon brings one that has",
    "cuda": f"{_NO_GPU}`pip install 'mlx[cuda13]'` (or cuda12, as the driver is) brings one",
}
LACKING = (
    "MLX has no GPU implementation of an operation of the reference ({}), and times on a CPU do "
    "not compare with those of a GPU: there is no ratio to MLX"
)
ONLY_APART = "the ratio is to {}, and not to MLX"
ROUNDED = (
    f"MLX multiplies matrices of float32 as TF32, with 10 bits of 23, because {TF32} says so; "
    f"unset it to compare float32 with float32"
)
# Part of the name of a form that updates its inputs in place.
DONATED = "input donated"
# Most repetitions in one graph, which share the cost of its evaluation, and most bytes of results
# in flight: results that exceed the cache are slow to write. Two graphs are in flight at a time.
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


def explain_missing_gpu(kind: str) -> str:
    """Return why MLX does not run on the GPU of that kind; empty if it does, or without a GPU."""
    return NO_GPU[kind] if kind in NO_GPU and select_stream(kind) != mx.gpu else ""


def create_reference(
    kind: str, workload: Workload, *, copies: int = 1, keeps: int = 0, in_place: bool = False
) -> tuple[Reference | None, tuple[str, ...]]:
    """Return the reference for a device of that kind, or None, and notes, such as the reason.

    Where MLX has no GPU, or its GPU lacks an operation, only another library's form is compared, if
    the task has one.
    """
    create = partial(Reference, workload, kind=kind, copies=copies, keeps=keeps, in_place=in_place)
    missing = explain_missing_gpu(kind)
    if not missing:
        try:
            reference = create()
        except RuntimeError as error:
            if kind not in NO_GPU or not lacks_operation(error):
                raise
            missing = LACKING.format(str(error).partition("\n")[0].rstrip(". "))
    if missing:
        if workload.task.apart is None:
            return None, (missing,)
        return create(only_apart=True), (missing, ONLY_APART.format(workload.task.apart.name))
    on_cuda = find_kind(kind).runs_mlx_on_cuda
    tf32 = on_cuda and os.environ[TF32] != "0" and workload.dtype.name == "float32"
    return reference, (ROUNDED,) if tf32 else ()


class Reference:
    """The reference on one workload; `reference(k)` runs it k times, one after the other.

    Inputs are copied to MLX once, in the run's element type. Each repetition depends on the one
    before, which orders them on MLX's CPU. MLX's GPU overlaps repetitions unless one reads a result
    of the one before, so each reads one element (docs/design/mlx-timing.md). MLX gets the next
    graph while it computes the one before. Results are released at once, so that the allocator
    reuses their memory.

    Calls rotate over several `copies` of the inputs. The last `keeps` outputs are not released, so
    that MLX's allocator rotates their memory. `form` is the form that runs. On a GPU, `load` runs
    once on every copy.

    `in_place` compares with kernels that update inputs in place. The reference stays a function,
    but each result becomes the input of the next repetition on this copy, and nothing else holds
    the input. MLX then donates its memory to the result, and copies nothing either. With
    `only_apart` MLX's forms are left out.

    MLX's memory cache is emptied first, so that earlier work has no effect.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        kind: str = "cpu",
        copies: int = 1,
        keeps: int = 0,
        in_place: bool = False,
        only_apart: bool = False,
    ) -> None:
        if workload.task.apart is not None:
            workload.task.apart.beside(kind)
        self.forms = list_forms(workload.task)
        if only_apart:
            self.forms = tuple(each for each in self.forms if each.apart)
        # The donated inputs, and the places of the results that replace them.
        self._donated: dict[str, int] = {}
        if in_place:
            places = {name: place for place, name in enumerate(workload.task.outputs)}
            self._donated = {name: places[to] for name, to in workload.task.inout.items()}
            self.forms = tuple(
                each if each.apart else replace(each, name=f"{each.name}, {DONATED}")
                for each in self.forms
            )
        self.form = self.forms[0]
        self._stream = select_stream(kind)
        self._on_gpu = not find_kind(kind).is_simulated
        self._on_metal = find_kind(kind).runs_mlx_on_metal
        self._ends = read_ends if self._on_gpu else plain_ends
        self._turn = 0
        self._kept: deque[Any] = deque(maxlen=keeps)
        self._inputs: list[dict[str, mx.array]] = [{} for _ in range(copies)]
        self._taken: dict[str, int] = {}  # bytes of one repetition, by the kind of the form
        self._in_graph: dict[str, int] = {}
        mx.clear_cache()
        self.load(workload)

    def load(self, workload: Workload, *others: Workload) -> None:
        """Load the inputs of other seeds, alternately if there are several copies; `pass_over`."""
        self.workload = workload
        self._works = [each.inputs for each in (workload, *others)]
        self._holds = ""
        for copy, work in zip(self._inputs, cycle((workload, *others)), strict=False):
            copy.update({name: to_mlx(each) for name, each in work.inputs.items()})
        mx.eval(*(each for copy in self._inputs for each in copy.values()))
        self.pass_over()

    def pass_over(self) -> None:
        """On a GPU, run once on every copy of the inputs; elsewhere do nothing.

        The first access of a GPU fetches data from the host's memory, and MLX builds kernels at
        first use. Such a pass takes up to a hundred times longer, and would spoil the calibration
        of a window's length.
        """
        if self._on_gpu:
            self(len(self._inputs))

    @property
    def name(self) -> str:
        """The name of the form that runs, for reports."""
        return self.form.name

    def outputs_of(self, form: Form) -> list[np.ndarray[Any, Any]]:
        """Return the outputs of a form, in the run's element type."""
        if form.apart is not None:
            return form.apart.outputs(self.workload.inputs)
        return [to_numpy(each) for each in self._run_once(form, self._inputs[0])]

    def operations_of(self, form: Form) -> list[str]:
        """Return the names of the operations that MLX would run for a form."""
        with mx.stream(self._stream):
            return operations_of(form, self._inputs[0])

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` to completion, one after the other."""
        if self.form.apart is not None:
            self._run_apart(self.form.apart, repetitions)
            return
        if repetitions == 1 and self.form.kind not in self._taken and not self._kept.maxlen:
            self._run_once(self.form, self._next_inputs())  # this is the repetition
            return
        if self._donated and self.form in self.forms:
            self._run_donated(repetitions)
            return
        with mx.stream(self._stream):
            in_graph = self._most_in_graph
            results = under_way = ends = None
            for done in range(1, repetitions + 1):
                inputs = self._next_inputs()
                if results is not None:
                    ends = self._ends(results, ends)
                    inputs = order_after(inputs, ends)
                results = self.form.function(**inputs)
                self._kept.append(results)
                if done % in_graph == 0:
                    mx.async_eval(results)  # type: ignore[no-untyped-call]
                    if under_way is not None:
                        mx.eval(under_way)
                    under_way = results
            mx.eval(results)

    def _run_donated(self, repetitions: int) -> None:
        """Run repetitions of which each takes the memory of the input that it replaces.

        MLX donates the memory of an array that only the graph refers to. So there is no order
        between the copies but that of MLX's stream, and one graph is evaluated at a time.
        """
        with mx.stream(self._stream):
            in_graph = self._most_in_graph
            others: list[mx.array] = []
            for done in range(1, repetitions + 1):
                inputs = self._next_inputs()
                results = plain_ends(self.form.function(**inputs), None)
                for name, place in self._donated.items():
                    inputs[name] = results[place]
                kept = self._donated.values()
                others += [each for place, each in enumerate(results) if place not in kept]
                del results
                if done % in_graph == 0 or done == repetitions:
                    updated = [copy[name] for copy in self._inputs for name in self._donated]
                    mx.eval(*updated, *others)
                    del updated
                    others.clear()

    def _run_apart(self, apart: ExternalReference, repetitions: int) -> None:
        """Run by another library, which copies its inputs at the first call."""
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
        """The repetitions of one graph, by the memory and the time of one."""
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
        """Return a form's results; record their peak memory."""
        with mx.stream(self._stream):
            before = mx.get_active_memory()
            mx.reset_peak_memory()
            compute = evaluate_compiled if form.kind == "compiled" else evaluate
            results = plain_ends(compute(partial(form.function, **inputs)), None)
            taken = max(1, mx.get_peak_memory() - before)
        self._taken[form.kind] = taken
        return results


def order_after(inputs: Mapping[str, mx.array], ends: Sequence[mx.array]) -> dict[str, mx.array]:
    """Return `inputs` for operations that MLX starts after it has started those of `ends`."""
    return dict(zip(inputs, mx.depends(list(inputs.values()), list(ends)), strict=True))


def plain_ends(results: Any, _: Sequence[mx.array] | None) -> list[mx.array]:
    """Return the last arrays of a repetition: its results."""
    return list(results) if isinstance(results, (tuple, list)) else [results]


def read_ends(results: Any, before: Sequence[mx.array] | None) -> list[mx.array]:
    """Return the last arrays of a repetition on a GPU: an operation that reads one element of each.

    It also reads `before`, the ends of the repetition before. In MLX, a read waits for the write,
    and so do later operations of its command buffer.
    """
    elements = [each[(slice(1),) * each.ndim] for each in plain_ends(results, None)]
    pairs = zip(elements if before is None else before, elements, strict=True)
    # The value is not used. It is one kernel, without a conversion of the element type.
    return [mx.maximum(earlier, later) for earlier, later in pairs]


# Let MLX compile a task's reference ahead of time.


def build_forms(task: Task, dtype_name: str, *, kind: str) -> None:
    """Run the compiled form of `task`'s reference, if it has one, for devices of that kind.

    MLX caches the build by its operations, not by its size, so the smallest size is enough. On a
    CPU a build runs a C++ compiler, for a second or more. Raises the errors of the task's code.
    """
    smallest = next(iter(task.sizes))
    reference, _ = create_reference(kind, workload(task, smallest, dtype_name=dtype_name))
    if reference is None:
        return
    for form in reference.forms:
        if form.kind == "compiled":
            reference.outputs_of(form)
