"""Compile a kernel for a device, bind its arguments, and evaluate its grids."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from metalbench import _core
from metalbench._core import Error
from metalbench.errors import (
    CompileError,
    DeclarationError,
    DispatchError,
    OutOfMemoryError,
    Unsupported,
    suggestion,
)
from metalbench.expression import Expression
from metalbench.kernel.header import Dispatch, Kernel, TensorView, lines_for
from metalbench.kernel.memory import (
    COUNTS,
    GUARD_BYTES,
    CountsBuffer,
    GuardedBuffer,
    Table,
    build_tables,
)
from metalbench.kernel.source_files import include_folders
from metalbench.kernel.textures import sampler_options, texture_over
from metalbench.msl import engine
from metalbench.msl.frontend.bindings import EXTENTS_SUFFIX
from metalbench.msl.frontend.standards import TENSOR_LAYOUT_MACRO, define_version
from metalbench.sandbox.resources import memory_bytes
from metalbench.task import Task
from metalbench.task.dtypes import FLOATS, DType, dtype
from metalbench.task.workload import Workload

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Geometry:
    """Sizes of one dispatch. `grid` counts threads if `in_threads` is true, else threadgroups."""

    function: str
    threads: Extents
    grid: Extents
    in_threads: bool
    threadgroup_bytes: Mapping[str, int]
    # Arguments that the dispatch line binds: to an array or constant by name, or to a number.
    arguments: Mapping[str, str | int] = field(default_factory=dict)

    def find_source(self, argument: str) -> str | int:
        """Return the array or number that an argument binds to, by its own name without a line."""
        return self.arguments.get(argument, argument)

    @property
    def threads_per_threadgroup(self) -> int:
        """Threads in one threadgroup."""
        return int(np.prod(self.threads, dtype=np.int64))


def count_threads(line: Dispatch, values: Mapping[str, int]) -> int | None:
    """Return threads in a threadgroup with these values; None where they make no size."""
    try:
        extents = [each.evaluate(values) for each in line.threads]
    except DeclarationError:
        return None
    return math.prod(extents) if min(extents) > 0 else None


def evaluate(expression: Expression, values: Mapping[str, int], where: str) -> int:
    """Return the value of an expression; raise DeclarationError that begins with `where`."""
    try:
        return expression.evaluate(values)
    except DeclarationError as error:
        raise DeclarationError(f"{where}: {error}") from None


def evaluate_extent(expression: Expression, values: Mapping[str, int], where: str) -> int:
    """Return a size of a grid or threadgroup. Raise DispatchError unless it is one."""
    value = evaluate(expression, values, where)
    if not 0 < value < 2**32:
        used = ", ".join(f"{name} = {values[name]}" for name in sorted(expression.names))
        raise DispatchError(
            f"{where}: expected 1 to 2^32 - 1 for {expression}, got {value}"
            + (f" ({used})" if used else "")
        )
    return value


def evaluate_extents(
    expressions: Sequence[Expression], values: Mapping[str, int], where: str
) -> Extents:
    """Return one to three sizes, as three."""
    extents = [evaluate_extent(each, values, where) for each in expressions]
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


# Suggest a fix for a kernel whose threadgroup has too many threads.


def explain_thread_limit(most: int, device: _core.Device) -> str:
    """Return why a function takes only `most` threads; empty where that is the device's limit."""
    limit = device.limits.max_threads_per_threadgroup
    if most >= limit:
        return ""
    return (
        f" (the device takes {limit}, but not of this kernel: it needs many registers, or "
        "says max_total_threads_per_threadgroup)"
    )


# A hint is not worth a longer search.
MOST_CHOICES = 10_000


def suggest_fewer_threads(
    kernel: Kernel, line: Dispatch, values: Mapping[str, int], most: int, *, dtype: str
) -> str:
    """Return the advice to choose tunables with at most `most` threads in a threadgroup."""
    names = [name for name in kernel.tunables if any(name in each.names for each in line.threads)]
    if not names:
        return "lower threads="
    fitting = list(_fitting_choices(kernel, line, values, most, names=names))
    if not fitting:
        named = " and ".join(f"`// tune: {name}`" for name in names)
        return f"no value of {named} is small enough: add one that is, as the first"
    found = ", ".join(map("{} = {}".format, names, max(fitting)[1]))
    said = {
        name: f"`// defaults: {line}`"
        for line in lines_for(kernel.device_defaults, kernel.target, dtype)
        for name in names
        if name in line.values
    }
    if said:
        lines = " and ".join(dict.fromkeys(said.values()))
        return f"{found} fits: let the line {lines} say so"
    return f"{found} fits: let the `// tune:` line begin with it"


def _fitting_choices(
    kernel: Kernel, line: Dispatch, values: Mapping[str, int], most: int, *, names: Sequence[str]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the threads of each choice of `names` that are few enough, and the choice."""
    choices = itertools.product(*(kernel.tunables[name] for name in names))
    for choice in itertools.islice(choices, MOST_CHOICES):
        threads = count_threads(line, {**values, **dict(zip(names, choice, strict=True))})
        if threads is not None and threads <= most:
            yield threads, choice


# Bind the arguments of a kernel to the arrays and scalars of a task, by name.


def check_names(task: Task, kernel: Kernel) -> None:
    """Raise DeclarationError if scratch or a tunable is called like something of the task."""
    taken = {*task.inputs, *task.outputs, *task.constants, *task.values(task.headline)}
    for each in kernel.scratches:
        if each.name in taken or each.name in kernel.tunables:
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}:{each.line}: scratch {each.name!r} is called "
                "like an input, output, size, constant or tunable; rename it"
            )
    for size in kernel.named_sizes:
        if size.name in taken:
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}:{size.line}: {size.name!r} is called like an "
                "input, output, size or constant; rename it"
            )
    _check_inouts(task, kernel)
    for name in kernel.tunables:
        if name in taken:
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}: tunable {name!r} is called like an input, "
                "output, size or constant; rename it"
            )


def _check_inouts(task: Task, kernel: Kernel) -> None:
    """Raise DeclarationError unless the kernel updates all arrays in place that the task names."""
    for name, line in kernel.inouts.items():
        if name not in task.inout:
            named = ", ".join(task.inout) or "none"
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}:{line}: {name!r} cannot be updated in place; "
                f"the task declares with `inout=`: {named}"
            )
    missing = [name for name in task.inout if name not in kernel.inouts]
    if kernel.inouts and missing:
        line = next(iter(kernel.inouts.values()))
        raise DeclarationError(
            f"[{task.name}] {kernel.path.name}:{line}: expected all of {', '.join(task.inout)}, "
            f"got no {', '.join(missing)}; update all of them in place, or none"
        )


def check_coverage(
    task: Task, kernel: Kernel, pipelines: Mapping[str, _core.Pipeline], run: DType
) -> None:
    """Raise DeclarationError if an argument is unknown or of a wrong type, or one is missing."""
    declared = {**task.inputs, **task.outputs}
    for name in kernel.inouts:
        del declared[task.inout[name]]
    arrays = {name: each.type_in(run) for name, each in declared.items()}
    arrays |= {each.name: each.type_in(run) for each in kernel.scratches}
    formats = pixel_formats(task, kernel)
    named = {each.name: 0 for each in kernel.named_sizes}
    scalars = {**task.values(task.headline), **named, **task.constants}
    _check_samplers(task, kernel, pipelines.values())
    written: set[str] = set()
    bound: set[str] = set()
    # Dispatches of one function with the same bindings are checked once.
    lines = {(each.function, tuple(each.arguments.items())): each for each in kernel.dispatches}
    for line in lines.values():
        pipeline = pipelines[line.function]
        if line.arguments:
            _check_bindings(task, kernel, line, pipeline, arrays=arrays)
        for argument in pipeline.arguments:
            if argument.kind not in ("buffer", "texture") or argument.name == COUNTS:
                continue
            source = line.find_source(argument.name)
            if argument.name in line.arguments and source not in arrays:
                continue  # a number, which is checked
            bound.add(source)
            if argument.access not in ("read", "sample"):
                written.add(source)
            _check_kind(task.name, pipeline.name, argument, source, formats)
            if source in kernel.tensors:
                _check_tensor(task.name, kernel, pipeline, argument, source)
            if argument.kind == "buffer":
                _check_argument(
                    task.name, pipeline.name, argument, source, arrays=arrays, scalars=scalars
                )
    missing = next((name for name in arrays if name not in bound), None)
    if missing is not None:
        raise _make_missing_error(task, kernel, missing, arrays[missing])
    for name in [*(each for each in task.outputs if each in arrays), *kernel.inouts]:
        if name not in written:
            raise DeclarationError(
                f"[{task.name}] {name}: expected an argument that can be written, got const; "
                f"drop the const in {kernel.path.name}"
            )


def _make_missing_error(task: Task, kernel: Kernel, name: str, kind: DType) -> DeclarationError:
    """Return the error of an array that no dispatch takes."""
    what = "scratch" if name not in {**task.inputs, **task.outputs} else "argument"
    argument = f"`device {kind.msl}* {name}`"
    if name in kernel.tensors:
        rank = len(kernel.tensors[name].shape)
        argument = f"`tensor<device {kind.msl}, dextents<int32_t, {rank}>> {name}`"
    if name in pixel_formats(task, kernel):
        argument = f"`texture2d<T> {name}` or the like"
    return DeclarationError(
        f"[{task.name}] {name}: no dispatched kernel of {kernel.path.name} takes this {what}; add "
        f"{argument} to one"
    )


def _check_bindings(
    task: Task,
    kernel: Kernel,
    line: Dispatch,
    pipeline: _core.Pipeline,
    *,
    arrays: Mapping[str, DType],
) -> None:
    """Raise DeclarationError unless the arguments that a line binds exist and take what it names.

    An array that a dispatch writes has one argument.
    """
    where = f"[{task.name}] {kernel.path.name}:{line.line}: {line.function}"
    takes = {
        each.name: each
        for each in pipeline.arguments
        if each.kind in ("buffer", "texture") and not each.name.endswith(EXTENTS_SUFFIX)
    }
    named = [each.name for each in kernel.named_sizes]
    constants = {*task.values(task.headline), *task.constants, *kernel.tunables, *named}
    for name, bound in line.arguments.items():
        if name not in takes:
            raise DeclarationError(
                f"{where}: no array or number is called {name!r} among its arguments; "
                f"{suggestion(name, takes)}"
            )
        argument, source = takes[name], line.find_source(name)
        if source in arrays:
            continue
        is_array = argument.kind == "texture" or argument.address_space == "device"
        if is_array:
            raise DeclarationError(
                f"{where}: {name}: expected an input, output or scratch, for the argument is of "
                f"{argument.type} in {argument.address_space} memory, got {bound}; "
                f"{suggestion(source or str(bound), arrays)}"
            )
        unknown = next((each for each in sorted(bound.names) if each not in constants), None)
        if unknown in arrays:
            raise DeclarationError(
                f"{where}: {name}: expected the name of an array alone, or an expression of sizes, "
                f"got {bound}"
            )
        if unknown is not None:
            raise DeclarationError(
                f"{where}: {name}: {unknown!r} is not an input, output, scratch, size, constant or "
                f"tunable; {suggestion(unknown, [*arrays, *constants])}"
            )
        is_float = isinstance(task.constants.get(source), float)
        if not is_float and (argument.element is None or argument.element in FLOATS):
            raise DeclarationError(
                f"{where}: {name}: expected an integer such as `constant uint& {name}` for the "
                f"expression {bound}, got {argument.type}"
            )
        if is_float and argument.element not in FLOATS:
            raise DeclarationError(
                f"{where}: {name}: expected `constant float& {name}` for the constant {source}, "
                f"got {argument.type}"
            )
    _check_aliases(where, line, takes, arrays)


def _check_aliases(
    where: str, line: Dispatch, takes: Mapping[str, _core.Argument], arrays: Mapping[str, DType]
) -> None:
    """Raise DeclarationError if two arguments have one array and the dispatch writes to it."""
    owners: dict[str, str] = {}
    for name in takes:
        source = line.find_source(name)
        other = owners.setdefault(source, name)
        if other == name or source not in arrays:
            continue
        written = [each for each in (other, name) if takes[each].access not in ("read", "sample")]
        if written:
            raise DeclarationError(
                f"{where}: expected different arrays for {other} and {name}, because the kernel "
                f"writes {written[0]}; got {source} for both"
            )


def _check_samplers(task: Task, kernel: Kernel, pipelines: Iterable[_core.Pipeline]) -> None:
    taken = {
        each.name for pipeline in pipelines for each in pipeline.arguments if each.kind == "sampler"
    }
    for name in sorted(taken ^ kernel.samplers.keys()):
        raise DeclarationError(
            f"[{task.name}] {name}: "
            + (
                f"expected a line such as `// sampler: {name} filter::linear` in {kernel.path.name}"
                if name in taken
                else f"no dispatched kernel of {kernel.path.name} takes this sampler"
            )
        )


def pixel_formats(task: Task, kernel: Kernel) -> dict[str, str]:
    """Return the formats of what a kernel takes as textures, by name."""
    formats = {name: each.pixel_format for name, each in {**task.inputs, **task.outputs}.items()}
    formats |= {each.name: each.pixel_format for each in kernel.scratches}
    return {name: each for name, each in formats.items() if each}


def _check_kind(
    task: str,
    function: str,
    argument: _core.Argument,
    source: str,
    formats: Mapping[str, str],
) -> None:
    if (argument.kind == "texture") != (source in formats):
        line = "// texture:" if argument.kind == "texture" else "// buffer:"
        raise DeclarationError(
            f"[{task}] {source}: kernel {function} takes it as {argument.type}, a "
            f"{argument.kind}; expected a `{line} {source} ...` line"
        )


def _check_tensor(
    task: str, kernel: Kernel, pipeline: _core.Pipeline, argument: _core.Argument, source: str
) -> None:
    """Raise DeclarationError unless an argument is a tensor of the rank that its line declares."""
    view = kernel.tensors[source]
    where = f"[{task}] {kernel.path.name}:{view.line}: {source}"
    extents = [
        each for each in pipeline.arguments if each.name == f"{argument.name}{EXTENTS_SUFFIX}"
    ]
    if not extents:
        raise DeclarationError(
            f"{where}: kernel {pipeline.name} takes it as a pointer to {argument.type}, not as a "
            f"tensor; write `// buffer:`"
        )
    if view.element and not argument.type.endswith(view.element):
        raise DeclarationError(
            f"{where}: kernel {pipeline.name} takes a tensor of {argument.type}, the line declares "
            f"{view.element}"
        )
    if _rank(extents[0]) != len(view.shape):
        raise DeclarationError(
            f"{where}: kernel {pipeline.name} takes a tensor of rank {_rank(extents[0])}, the line "
            f"declares {len(view.shape)} dimensions"
        )


def _rank(extents_argument: _core.Argument) -> int:
    """Return the rank of a tensor whose extents are `array<long, N>`: N is twice the rank."""
    return int(extents_argument.type.rpartition(",")[2].strip(" >")) // 2


def _check_argument(
    task: str,
    function: str,
    argument: _core.Argument,
    name: str,
    *,
    arrays: Mapping[str, DType],
    scalars: Mapping[str, int | float],
) -> None:
    """Raise DeclarationError unless an argument has the type of the array or number `name`."""
    got = argument.element
    if name.endswith(EXTENTS_SUFFIX) and name.removesuffix(EXTENTS_SUFFIX) in arrays:
        return  # of a tensor over that array
    if name in arrays:
        expected = arrays[name]
        if got is None:
            fits = argument.element_bytes % expected.nbytes == 0
        elif got in FLOATS or expected.is_float:
            fits = got == expected.name
        else:
            fits = np.dtype(got).itemsize == expected.nbytes
        if not fits:
            raise DeclarationError(
                f"[{task}] {name}: expected {expected.name} ({expected.msl}), got "
                f"{argument.type} in kernel {function}; use the macro DTYPE for the run's type"
            )
    elif name in scalars:
        if isinstance(scalars[name], int) and got in FLOATS:
            raise DeclarationError(
                f"[{task}] {name}: expected an integer such as `constant uint& {name}`, got "
                f"{argument.type} in kernel {function}"
            )
    elif not arrays and not scalars:
        raise DeclarationError(
            f"[{task}] {name}: kernel {function} takes it, and no header line declares it: write "
            f"`// buffer: {name} float32 (SIZE)` or `// value: {name} = 1` above the kernel, or "
            "name its task with --task"
        )
    else:
        raise DeclarationError(
            f"[{task}] {name}: kernel {function} takes it but the task has no such input, output, "
            f"size, constant or scratch; {suggestion(name, [*arrays, *scalars])}"
        )


def find_tensor(
    name: str,
    buffers: Mapping[str, GuardedBuffer | CountsBuffer],
    sources: Mapping[str, str | int],
) -> GuardedBuffer | None:
    """Return the buffer of the tensor whose extents an argument has; None for other arguments."""
    owner = name.removesuffix(EXTENTS_SUFFIX)
    tensor = buffers.get(str(sources.get(owner, owner)))
    if name.endswith(EXTENTS_SUFFIX) and isinstance(tensor, GuardedBuffer):
        return tensor
    return None


def tensor_extents(
    pipeline: _core.Pipeline,
    extents_argument: _core.Argument,
    shape: Sequence[int],
    view: TensorView | None = None,
) -> np.ndarray[Any, Any]:
    """Return the extents of a tensor over an array, the innermost first, then its strides.

    Without a `view` the array is dense. Raise DispatchError for an array of another rank. Elements
    of four bits are two in a byte.
    """
    if view is not None:
        return np.array([*reversed(view.shape), *reversed(view.strides)], np.int64)
    name = extents_argument.name.removesuffix(EXTENTS_SUFFIX)
    (tensor,) = (each for each in pipeline.arguments if each.name == name)
    rank = _rank(extents_argument)
    if rank != len(shape):
        raise DispatchError(
            f"[{pipeline.name}] {name}: expected an array of {rank} dimensions for a tensor of "
            f"rank {rank}, got {len(shape)}"
        )
    extents = [int(size) for size in reversed(shape)]
    if "int4b_format" in tensor.type:
        extents[0] *= 2
    strides = [math.prod(extents[:at]) for at in range(len(extents))]
    return np.array([*extents, *strides], np.int64)


def bind_arguments(
    pipeline: _core.Pipeline,
    buffers: Mapping[str, GuardedBuffer | CountsBuffer],
    scalars: Mapping[str, int | float],
    formats: Mapping[str, str],
    kernel: Kernel,
    *,
    sources: Mapping[str, str | int],
) -> dict[str, object]:
    """Return the value of each buffer, texture and sampler argument of `pipeline`.

    `formats` are the pixel formats of textures, by name. `kernel` has the options of samplers and
    the views of tensors. `sources` are what arguments bind to that do not bind by their own names.
    Raise DispatchError for an argument of another kind.
    """
    samplers = kernel.samplers
    values: dict[str, object] = {}
    for each in pipeline.arguments:
        name, source = each.name, sources.get(each.name, each.name)
        buffer = buffers.get(source) if isinstance(source, str) else None
        if each.kind == "texture" and isinstance(buffer, GuardedBuffer):
            values[name] = texture_over(buffer, formats[str(source)], each)
        elif each.kind == "sampler" and name in samplers:
            made = _core.Sampler(**sampler_options(samplers[name]))
            values[name] = made if each.count == 1 else [made] * each.count
        elif tensor := find_tensor(name, buffers, sources):
            owner = name.removesuffix(EXTENTS_SUFFIX)
            view = kernel.tensors.get(str(sources.get(owner, owner)))
            values[name] = tensor_extents(pipeline, each, tensor.shape, view).tobytes()
        elif each.kind == "buffer":
            if buffer is not None:
                values[name] = buffer.buffer
            else:
                values[name] = source if isinstance(source, int) else scalars[source]
    return values


# Compile a kernel and bind it to a workload: dispatches that are ready to run.


@dataclass(frozen=True)
class Bound:
    """A compiled kernel with buffers for one workload."""

    workload: Workload
    dispatches: list[_core.Dispatch]
    geometry: list[Geometry]
    inputs: Mapping[str, GuardedBuffer]
    outputs: Mapping[str, GuardedBuffer]
    scratches: Mapping[str, GuardedBuffer]
    # One buffer for each dispatch of a counted build.
    counts: Sequence[CountsBuffer] = ()
    # Inputs that are updated in place, and the outputs that they become. Both are one buffer.
    inouts: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_outputs(self) -> Mapping[str, GuardedBuffer]:
        """The outputs that are not an updated input."""
        updated = self.inouts.values()
        return {name: each for name, each in self.outputs.items() if name not in updated}

    def poison(self, turn: int = 0) -> None:
        """Fill outputs and scratch with poison; odd turns have a different pattern.

        Inputs that are updated in place get the workload's contents.
        """
        for each in (*self.own_outputs.values(), *self.scratches.values()):
            each.poison(turn)
        for name in self.inouts:
            self.inputs[name].fill(self.workload.inputs[name])

    def mark_unwritten(self) -> None:
        """Mark outputs and scratch as unwritten: checked runs report reads before a write."""
        for each in (*self.own_outputs.values(), *self.scratches.values()):
            each.buffer.mark_unwritten()

    def unwritten(self, name: str) -> np.ndarray[Any, Any]:
        """Return a boolean array: which elements of output `name` still hold the poison."""
        if name in self.inouts.values():
            return np.zeros(self.outputs[name].shape, bool)
        return self.outputs[name].unwritten()

    def load(self, workload: Workload) -> Bound:
        """Return the same buffers and dispatches with the inputs of another seed."""
        for name, each in self.inputs.items():
            each.fill(workload.inputs[name])
        return replace(self, workload=workload)

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Return output `name` as a view of the device's memory."""
        return self.outputs[name].array


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled for one device, element type and choice of tunables."""

    device: _core.Device
    task: Task
    kernel: Kernel
    dtype: DType
    tunables: Mapping[str, int]
    pipelines: Mapping[str, _core.Pipeline]
    # The meaning of the counts of a counted build, by function.
    tables: Mapping[str, Table] = field(default_factory=dict)
    # The number of accesses that each dispatch records.
    traced: int = 0
    # On both sides of every buffer; 0 for tools that detect accesses out of bounds themselves.
    guard_bytes: int = GUARD_BYTES

    def bind(self, workload: Workload) -> Bound:
        """Allocate guarded buffers, fill the inputs, poison the rest and bind every dispatch.

        Raise DeclarationError or DispatchError if the launch does not fit kernel or device.
        """
        # Before anything is allocated: a size beyond the limits may need much memory.
        self.check_limits(workload.values)
        inputs, outputs = self.inputs(workload), self.outputs(workload)
        return self.bind_buffers(workload, inputs, outputs, self.scratches(workload))

    def bind_buffers(
        self,
        workload: Workload,
        inputs: Mapping[str, GuardedBuffer],
        outputs: Mapping[str, GuardedBuffer],
        scratches: Mapping[str, GuardedBuffer],
    ) -> Bound:
        """Bind every dispatch to buffers that are there; those of `inputs` hold the workload's.

        The output of an input that the kernel updates in place is the buffer of the input.
        """
        self.check_limits(workload.values)
        values = self.kernel.add_named_sizes({**workload.values, **self.tunables})
        geometry = [self.launch(each, values) for each in self.kernel.dispatches]
        buffers = {**inputs, **outputs, **scratches}
        inouts = {name: self.task.inout[name] for name in self.kernel.inouts}
        if inouts:
            became = {output: name for name, output in inouts.items()}
            outputs = {
                name: inputs[became[name]] if name in became else outputs[name]
                for name in workload.output_shapes
            }
        names = [each.name for each in self.kernel.named_sizes]
        named = {name: values[name] for name in names}
        scalars = {**self.task.constants, **workload.values, **named}
        counts = [self._counts(each) for each in geometry]
        dispatches = [
            self._dispatch(each, {**buffers, **counted}, scalars)
            for each, counted in zip(geometry, counts, strict=True)
        ]
        counting = [buffer for counted in counts for buffer in counted.values()]
        return Bound(workload, dispatches, geometry, inputs, outputs, scratches, counting, inouts)

    def check_limits(self, values: Mapping[str, int]) -> None:
        """Raise DispatchError for sizes that the `// limits:` lines of the kernel exclude."""
        if not self.kernel.limits:
            return
        values = self.kernel.add_named_sizes({**values, **self.tunables})
        for limit in self.kernel.limits:
            where = f"[{self.task.name}] {self.kernel.path.name}:{limit.line}"
            try:
                violation = limit.find_violation(values)
            except DeclarationError as error:
                raise DeclarationError(f"{where}: limit {error}") from None
            if violation:
                raise DispatchError(f"{where}: {violation}; the kernel has this limit")

    def _counts(self, launch: Geometry) -> dict[str, CountsBuffer]:
        table = self.tables.get(launch.function)
        return {} if table is None else {COUNTS: CountsBuffer(self.device, table, self.traced)}

    def inputs(self, workload: Workload) -> dict[str, GuardedBuffer]:
        """Return guarded buffers with the inputs of a workload."""
        return {
            name: self._buffer(array.shape, self.task.inputs[name].type_in(self.dtype), array)
            for name, array in workload.inputs.items()
        }

    def outputs(self, workload: Workload) -> dict[str, GuardedBuffer]:
        """Return guarded buffers of the outputs that are not inputs updated in place."""
        updated = [self.task.inout[name] for name in self.kernel.inouts]
        return {
            name: self._buffer(shape, self.task.outputs[name].type_in(self.dtype))
            for name, shape in workload.output_shapes.items()
            if name not in updated
        }

    def _buffer(
        self, shape: tuple[int, ...], kind: DType, contents: np.ndarray[Any, Any] | None = None
    ) -> GuardedBuffer:
        return GuardedBuffer(self.device, shape, kind, self.guard_bytes, contents)

    def launch(self, line: Dispatch, values: Mapping[str, int]) -> Geometry:
        """Return the geometry of a dispatch line for `values` of sizes, constants and tunables."""
        where = f"[{self.task.name}] {self.kernel.path.name}:{line.line}: {line.function}"
        grid = line.threadgroups or line.threads_in_grid or ()
        geometry = Geometry(
            line.function,
            evaluate_extents(line.threads, values, f"{where} threads"),
            evaluate_extents(grid, values, f"{where} grid"),
            line.threads_in_grid is not None,
            {name: evaluate(each, values, where) for name, each in line.threadgroup_bytes.items()},
            {
                name: evaluate(each, values, f"{where} {name}")
                if each.names <= values.keys()
                else each.root.name
                for name, each in line.arguments.items()
            },
        )
        most = self.pipelines[line.function].max_threads
        if geometry.threads_per_threadgroup > most:
            instead = suggest_fewer_threads(self.kernel, line, values, most, dtype=self.dtype.name)
            raise DispatchError(
                f"{where} threads={geometry.threads}: expected at most {most} threads in a "
                f"threadgroup{explain_thread_limit(most, self.device)}, got "
                f"{geometry.threads_per_threadgroup}; {instead}"
            )
        return geometry

    def scratches(self, workload: Workload) -> dict[str, GuardedBuffer]:
        """Return guarded buffers for the scratch memory shared by the dispatches.

        Raise DispatchError for scratch that the machine's or the device's memory cannot hold.
        """
        values = self.kernel.add_named_sizes({**workload.values, **self.tunables})
        result: dict[str, GuardedBuffer] = {}
        size, most = 0, memory_bytes() // 2
        for each in self.kernel.scratches:
            where = f"[{self.task.name}] {self.kernel.path.name}:{each.line}: {each.name}"
            shape = tuple(evaluate_extent(extent, values, where) for extent in each.shape)
            kind = each.type_in(self.dtype)
            size += math.prod(shape) * kind.nbytes
            too_large = (
                f"{where}: expected scratch of at most {most >> 20} MiB, half of the memory, got "
                f"{size >> 20} MiB with {kind.name} {shape}; declare less"
            )
            if size > most:
                raise DispatchError(too_large)
            try:
                result[each.name] = self._buffer(shape, kind)
            except (OutOfMemoryError, MemoryError) as error:
                # The kernel asks for it, so the kernel fails, and not the machine.
                raise DispatchError(f"{too_large} ({error})") from None
        return result

    def _dispatch(
        self,
        geometry: Geometry,
        buffers: Mapping[str, GuardedBuffer | CountsBuffer],
        scalars: Mapping[str, int | float],
    ) -> _core.Dispatch:
        pipeline = self.pipelines[geometry.function]
        grid = "threads_in_grid" if geometry.in_threads else "threadgroups"
        options: dict[str, Any] = {grid: geometry.grid}
        return _core.Dispatch(
            pipeline,
            bind_arguments(
                pipeline,
                buffers,
                scalars,
                pixel_formats(self.task, self.kernel),
                self.kernel,
                sources=geometry.arguments,
            ),
            threads=geometry.threads,
            threadgroup_bytes=dict(geometry.threadgroup_bytes),
            **options,
        )


def compile_kernel(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    dtype_name: str = "float32",
    tunables: Mapping[str, int] | None = None,
    checked: bool = False,
    tools: Sequence[str] = (),
    counted: bool = False,
    traced: int = 0,
) -> Compiled:
    """Compile `kernel` for `device` and check that it fits `task`.

    `checked` builds report accesses out of bounds and races at run time. `counted` builds count
    operations and record the first `traced` accesses of each dispatch. Both run on the `cpu` device
    if `device` does not support them; see the result's `device`. docs/design/checked-builds.md
    describes the `tools` of checked builds. Raise CompileError, Unsupported, and DeclarationError
    for a wrong header, argument or tunable.
    """
    if (checked or counted) and not device.checked_builds:
        device = _core.open("cpu")
    task.check_dtype(dtype_name)
    check_written_for(kernel, dtype_name)
    check_names(task, kernel)
    run, chosen = dtype(dtype_name), kernel.resolve_tunables(tunables, dtype=dtype_name)
    options, fast_math = source_options(kernel, run, chosen), kernel.math == "fast"
    builds: dict[str, Any] = dict(checked=checked, tools=list(tools), counted=counted)
    try:
        library = device.compile(kernel.source, **options, **builds, fast_math=fast_math)
        constants = find_function_constants(kernel, task, options)
        pipelines = _pipelines(library, kernel, task.name, constants)
    except CompileError as error:
        raise CompileError(f"{error}{suggest_tunables(kernel, str(error))}") from None
    check_coverage(task, kernel, pipelines, run)
    tables: Mapping[str, Table] = {}
    if counted:
        tables = build_tables(kernel.source, pipelines, options, fast_math=fast_math)
    return Compiled(device, task, kernel, run, chosen, pipelines, tables, traced)


def suggest_tunables(kernel: Kernel, message: str) -> str:
    """Return a line for each identifier of a compiler's `message` that resembles a tunable.

    The compiler does not know macros that are declared in the header only.
    """
    names = dict.fromkeys(re.findall(r"use of undeclared identifier '(\w+)'", message))
    hints = {name: suggestion(name, (*kernel.tunables, "DTYPE")) for name in names}
    return "".join(
        f"\n{kernel.path.name}: {name!r} is not a tunable of the header; {hint}"
        for name, hint in hints.items()
        if hint.startswith("did you mean")
    )


@dataclass(frozen=True)
class Builds:
    """The builds of one kernel for one task and element type, each compiled on first use.

    `plain` runs on `device`. `checked` and `counted` run on the `cpu` device where `device` cannot
    make them. Each raises as `compile_kernel`.
    """

    device: _core.Device
    kernel: Kernel
    task: Task
    dtype_name: str = "float32"
    tunables: Mapping[str, int] | None = None

    @cached_property
    def plain(self) -> Compiled:
        """The build that is verified against the oracle and timed."""
        return self._compile()

    @cached_property
    def checked(self) -> Compiled:
        """The build that reports accesses out of bounds, races and uninitialised reads."""
        return self._compile(checked=True)

    @cached_property
    def counted(self) -> Compiled:
        """The build that counts accesses and arithmetic."""
        return self._compile(counted=True)

    def _compile(self, *, checked: bool = False, counted: bool = False) -> Compiled:
        return compile_kernel(
            self.device,
            self.kernel,
            self.task,
            dtype_name=self.dtype_name,
            tunables=self.tunables,
            checked=checked,
            counted=counted,
        )


def check_written_for(kernel: Kernel, dtype_name: str) -> None:
    """Raise DeclarationError unless `kernel` is written for element type `dtype_name`."""
    if dtype_name not in kernel.dtypes:
        raise DeclarationError(
            f"[{kernel.name}] {kernel.path.name} is written for {', '.join(kernel.dtypes)}, not "
            f"{dtype_name}; if it works add `// dtypes: {', '.join((*kernel.dtypes, dtype_name))}`"
        )


def source_options(kernel: Kernel, run: DType, tunables: Mapping[str, int]) -> dict[str, Any]:
    """Return file name, macros and include folders for compiling a kernel."""
    return {
        "filename": str(kernel.path),
        "macros": {
            "DTYPE": run.msl,
            **{name: str(value) for name, value in tunables.items()},
            **define_version(kernel.standard),
            **({TENSOR_LAYOUT_MACRO: str(kernel.tensor_layout)} if kernel.tensor_layout else {}),
        },
        "include_dirs": include_folders(kernel.path, kernel.include_dirs),
    }


def find_function_constants(
    kernel: Kernel, task: Task, options: Mapping[str, Any]
) -> dict[int | str, Any]:
    """Return the task's constants that the source declares as function constants, by name."""
    if not task.constants or kernel.is_python or "function_constant" not in kernel.text:
        return {}
    try:
        source = engine.parse(kernel.source, **options).source
    except Unsupported:
        return {}  # no compiler here, so the device has its own
    declared = {each.name for each in source.constants}
    return {name: value for name, value in task.constants.items() if name in declared}


def _pipelines(
    library: _core.Library, kernel: Kernel, task: str, constants: dict[int | str, Any]
) -> dict[str, _core.Pipeline]:
    """Return the kernels that the header dispatches, each compiled once."""
    pipelines: dict[str, _core.Pipeline] = {}
    for line in kernel.dispatches:
        if line.function not in library.functions:
            hint = suggestion(line.function, library.functions)
            where = f"[{task}] {kernel.path.name}:{line.line}"
            raise DeclarationError(f"{where}: no kernel {line.function!r}; {hint}")
        if line.function not in pipelines:
            pipelines[line.function] = _pipeline(library, line.function, constants)
        _check_threadgroup_arguments(task, kernel, line, pipelines[line.function])
    return pipelines


def _pipeline(
    library: _core.Library, function: str, constants: dict[int | str, Any]
) -> _core.Pipeline:
    try:
        return library.pipeline(function, constants=constants)
    except CompileError as error:
        # The engine's advice is for callers of `Library.pipeline`.
        advice = r"give one: constants=\{'(\w+)': \.\.\.\}"
        said = re.sub(advice, r"add `// value: \1 = 1` to the header", str(error))
        raise CompileError(said) from None


def _check_threadgroup_arguments(
    task: str, kernel: Kernel, line: Dispatch, pipeline: _core.Pipeline
) -> None:
    """Check that each `threadgroup` argument has a size, and each size an argument."""
    where = f"[{task}] {kernel.path.name}:{line.line}: {line.function}"
    takes = [each.name for each in pipeline.arguments if each.kind == "threadgroup"]
    for name in takes:
        if name not in line.threadgroup_bytes:
            raise DeclarationError(
                f"{where}: threadgroup argument {name!r} has no size; add "
                f"`threadgroup_bytes=({name}: ...)`"
            )
    for name in line.threadgroup_bytes:
        if name not in takes:
            raise DeclarationError(
                f"{where}: no threadgroup argument {name!r}; {suggestion(name, takes)}"
            )


# Find tests for NaN and infinity that Metal may remove from a `// math: fast` kernel on macOS 14.


def find_folded_tests(compiled: Compiled) -> tuple[str, ...]:
    """Return a warning for every test for NaN or infinity in the code that the kernel runs.

    Return none for safe math, and for a kernel that the front end cannot read.
    """
    if compiled.kernel.math != "fast":
        return ()
    try:
        return tuple(dict.fromkeys(_warnings(compiled)))
    except Error:
        return ()


def _warnings(compiled: Compiled) -> Iterator[str]:
    from metalbench.msl.frontend.source import find_nan_tests

    options = source_options(compiled.kernel, compiled.dtype, compiled.tunables)
    program = engine.parse(compiled.kernel.source, **options)
    for function in compiled.pipelines:
        for where, test in find_nan_tests(program.source, function):
            yield (
                "macOS 14 may leave out tests for NaN or infinity under `// math: fast`: "
                f"{where}: `{test}`; test the bits (as_type<uint>(x)), or compile with safe math"
            )
