"""Bind the arguments of a kernel to the arrays and scalars of a task, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from metalbench import _core
from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel.counts import COUNTS, CountsBuffer
from metalbench.kernel.guard import GuardedBuffer
from metalbench.kernel.header import Kernel
from metalbench.kernel.sampler import sampler_options
from metalbench.kernel.texture import texture_over
from metalbench.task import Task
from metalbench.task.dtypes import FLOATS, DType


def check_names(task: Task, kernel: Kernel) -> None:
    """Raise DeclarationError if scratch or a tunable is called like something of the task."""
    taken = {*task.inputs, *task.outputs, *task.constants, *task.values(task.headline)}
    for each in kernel.scratches:
        if each.name in taken or each.name in kernel.tunables:
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}:{each.line}: scratch {each.name!r} is called "
                "like an input, output, size, constant or tunable; rename it"
            )
    for name in kernel.tunables:
        if name in taken:
            raise DeclarationError(
                f"[{task.name}] {kernel.path.name}: tunable {name!r} is called like an input, "
                "output, size or constant; rename it"
            )


def check_coverage(
    task: Task, kernel: Kernel, pipelines: Iterable[_core.Pipeline], run: DType
) -> None:
    """Raise DeclarationError if an argument is unknown or of a wrong type, or one is missing."""
    arrays = {name: each.type_in(run) for name, each in {**task.inputs, **task.outputs}.items()}
    arrays |= {each.name: each.type_in(run) for each in kernel.scratches}
    formats = pixel_formats(task, kernel)
    scalars = {**task.values(task.headline), **task.constants}
    _check_samplers(task, kernel, pipelines)
    written: set[str] = set()
    bound: set[str] = set()
    for pipeline in pipelines:
        for argument in pipeline.arguments:
            if argument.kind not in ("buffer", "texture") or argument.name == COUNTS:
                continue
            bound.add(argument.name)
            if argument.access not in ("read", "sample"):
                written.add(argument.name)
            _check_kind(task.name, pipeline.name, argument, formats)
            if argument.kind == "buffer":
                _check_argument(task.name, pipeline.name, argument, arrays, scalars)
    file = kernel.path.name
    for name in arrays:
        if name not in bound:
            what = "scratch" if name not in {**task.inputs, **task.outputs} else "argument"
            raise DeclarationError(
                f"[{task.name}] {name}: no dispatched kernel of {file} takes this {what}; add "
                + (
                    f"`texture2d<T> {name}` or the like to one"
                    if name in formats
                    else f"`device {arrays[name].msl}* {name}` to one"
                )
            )
    for name in task.outputs:
        if name not in written:
            raise DeclarationError(
                f"[{task.name}] {name}: expected an argument that can be written, got const; "
                f"drop the const in {file}"
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
    task: str, function: str, argument: _core.Argument, formats: Mapping[str, str]
) -> None:
    if (argument.kind == "texture") != (argument.name in formats):
        line = "// texture:" if argument.kind == "texture" else "// buffer:"
        raise DeclarationError(
            f"[{task}] {argument.name}: kernel {function} takes it as {argument.type}, a "
            f"{argument.kind}; expected a `{line} {argument.name} ...` line"
        )


def _check_argument(
    task: str,
    function: str,
    argument: _core.Argument,
    arrays: Mapping[str, DType],
    scalars: Mapping[str, int | float],
) -> None:
    name, got = argument.name, argument.element
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
    else:
        raise DeclarationError(
            f"[{task}] {name}: kernel {function} takes it but the task has no such input, output, "
            f"size, constant or scratch; {suggestion(name, [*arrays, *scalars])}"
        )


def bind_arguments(
    pipeline: _core.Pipeline,
    buffers: Mapping[str, GuardedBuffer | CountsBuffer],
    scalars: Mapping[str, int | float],
    formats: Mapping[str, str],
    samplers: Mapping[str, str],
) -> dict[str, object]:
    """Return the value of each buffer, texture and sampler argument of `pipeline`.

    `formats` are the pixel formats of textures, by name. `samplers` are options in MSL's syntax.
    Raise DispatchError for an argument of another kind.
    """
    values: dict[str, object] = {}
    for each in pipeline.arguments:
        name, buffer = each.name, buffers.get(each.name)
        if each.kind == "texture" and isinstance(buffer, GuardedBuffer):
            values[name] = texture_over(buffer, formats[name], each)
        elif each.kind == "sampler" and name in samplers:
            made = _core.Sampler(**sampler_options(samplers[name]))
            values[name] = made if each.count == 1 else [made] * each.count
        elif each.kind == "buffer":
            values[name] = buffer.buffer if buffer is not None else scalars[name]
    return values
