"""Compile a kernel and bind it to a workload: dispatches that are ready to run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DeclarationError,
    DispatchError,
    OutOfMemoryError,
    Unsupported,
    suggestion,
)
from metalbench.isolation.limits import memory_bytes
from metalbench.kernel.binding import bind_arguments, check_coverage, check_names, pixel_formats
from metalbench.kernel.counts import COUNTS, CountsBuffer, Table, build_tables
from metalbench.kernel.directives import Dispatch
from metalbench.kernel.fewer_threads import explain_thread_limit, suggest_fewer_threads
from metalbench.kernel.geometry import Geometry, evaluate, evaluate_extent, evaluate_extents
from metalbench.kernel.guard import GUARD_BYTES, GuardedBuffer
from metalbench.kernel.header import Kernel
from metalbench.kernel.installed import include_folders
from metalbench.msl import engine
from metalbench.task import Task
from metalbench.task.dtypes import DType, dtype
from metalbench.task.workload import Workload


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

    def poison(self, turn: int = 0) -> None:
        """Fill outputs and scratch with poison; odd turns have a different pattern."""
        for each in (*self.outputs.values(), *self.scratches.values()):
            each.poison(turn)

    def mark_unwritten(self) -> None:
        """Mark outputs and scratch as unwritten: checked runs report reads before a write."""
        for each in (*self.outputs.values(), *self.scratches.values()):
            each.buffer.mark_unwritten()

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
        inputs, outputs = self.inputs(workload), self._outputs(workload)
        return self.bind_buffers(workload, inputs, outputs, self.scratches(workload))

    def bind_buffers(
        self,
        workload: Workload,
        inputs: Mapping[str, GuardedBuffer],
        outputs: Mapping[str, GuardedBuffer],
        scratches: Mapping[str, GuardedBuffer],
    ) -> Bound:
        """Bind every dispatch to buffers that are there; those of `inputs` hold the workload's."""
        values = {**workload.values, **self.tunables}
        geometry = [self.launch(each, values) for each in self.kernel.dispatches]
        buffers = {**inputs, **outputs, **scratches}
        scalars = {**self.task.constants, **workload.values}
        counts = [self._counts(each) for each in geometry]
        dispatches = [
            self._dispatch(each, {**buffers, **counted}, scalars)
            for each, counted in zip(geometry, counts, strict=True)
        ]
        counting = [buffer for counted in counts for buffer in counted.values()]
        return Bound(workload, dispatches, geometry, inputs, outputs, scratches, counting)

    def _counts(self, launch: Geometry) -> dict[str, CountsBuffer]:
        table = self.tables.get(launch.function)
        return {} if table is None else {COUNTS: CountsBuffer(self.device, table, self.traced)}

    def inputs(self, workload: Workload) -> dict[str, GuardedBuffer]:
        """Return guarded buffers with the inputs of a workload."""
        return {
            name: self._buffer(array.shape, self.task.inputs[name].type_in(self.dtype), array)
            for name, array in workload.inputs.items()
        }

    def _buffer(
        self, shape: tuple[int, ...], kind: DType, contents: np.ndarray[Any, Any] | None = None
    ) -> GuardedBuffer:
        return GuardedBuffer(self.device, shape, kind, self.guard_bytes, contents)

    def _outputs(self, workload: Workload) -> dict[str, GuardedBuffer]:
        return {
            name: self._buffer(shape, self.task.outputs[name].type_in(self.dtype))
            for name, shape in workload.output_shapes.items()
        }

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
        values = {**workload.values, **self.tunables}
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
                self.kernel.samplers,
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
    run, chosen = dtype(dtype_name), kernel.tuned(tunables, dtype=dtype_name)
    options, fast_math = source_options(kernel, run, chosen), kernel.math == "fast"
    builds: dict[str, Any] = dict(checked=checked, tools=list(tools), counted=counted)
    library = device.compile(kernel.source, **options, **builds, fast_math=fast_math)
    constants = _function_constants(kernel, task, options)
    pipelines = _pipelines(library, kernel, task.name, constants)
    check_coverage(task, kernel, pipelines.values(), run)
    tables: Mapping[str, Table] = {}
    if counted:
        tables = build_tables(kernel.source, pipelines, options, fast_math=fast_math)
    return Compiled(device, task, kernel, run, chosen, pipelines, tables, traced)


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
        "macros": {"DTYPE": run.msl, **{name: str(value) for name, value in tunables.items()}},
        "include_dirs": include_folders(kernel.path, kernel.include_dirs),
    }


def _function_constants(
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
