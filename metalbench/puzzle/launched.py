"""Convert a launch of an `mx.fast.metal_kernel` kernel into a kernel with a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from metalbench.custom_kernel.call import Call
from metalbench.custom_kernel.definition import Definition
from metalbench.custom_kernel.signature import PRELUDE, Generated
from metalbench.errors import DeclarationError, TaskError
from metalbench.kernel import Kernel
from metalbench.kernel.directives import Dispatch
from metalbench.puzzle.case import Case, Text
from metalbench.task import Input, Task
from metalbench.task.dtypes import DTYPES, DType
from metalbench.task.expression import Expression, parse
from metalbench.task.inputs import Array as Declared

Array = np.ndarray[Any, Any]
_EXTENTS = {"shape": np.int32, "strides": np.int64, "ndim": np.int32}


def case_of(generated: Generated, made: Call, name: str, path: Path, size: str) -> Case:
    """Return the generated kernel, and a task that draws what this call gave it.

    Findings refer to lines of the Python file at `path`.
    Raise DeclarationError for an empty grid, and for outputs that begin with a value.
    """
    defined = generated.definition
    if 0 in made.threads_in_grid:
        raise DeclarationError(f"[{name}] grid: expected threads, got {made.threads_in_grid}")
    if made.init_value is not None:
        raise DeclarationError(
            f"[{name}] init_value: expected none, for the kernel is to write every element"
        )
    dispatch = Dispatch(
        function=generated.name,
        threads=_shape(made.threads),
        threadgroups=None,
        threads_in_grid=_shape(made.threads_in_grid),
        threadgroup_bytes={},
        line=1,
    )
    kernel = Kernel(
        name=name,
        path=path,
        source=generated.unit,
        chip=None,
        description="",
        dispatches=(dispatch,),
        math="safe" if defined.math_mode == "safe" else "fast",
        include_dirs=(PRELUDE,),
    )
    task = _task(name, size, dict(_iterate_inputs(generated, made)), defined, made)
    return Case(kernel, task, size, tuple(_texts(generated, path)))


def _texts(generated: Generated, path: Path) -> Iterator[Text]:
    """Yield the places of header and source in the file, if they occur there verbatim."""
    whole = path.read_text(encoding="utf-8")
    parts = {"header": generated.definition.header, "source": generated.definition.source}
    for part, text in parts.items():
        start = whole.find(text) if text.strip() else -1
        if start >= 0:
            yield Text(generated.file(part), path, whole.count("\n", 0, start))


def _iterate_inputs(generated: Generated, made: Call) -> Iterator[tuple[str, Array]]:
    for name, each in zip(generated.definition.input_names, made.inputs, strict=True):
        yield name, each.memory.reshape(-1)
        for what in generated.extents(name, each.passing):
            yield f"{name}_{what}", np.frombuffer(each.extent(what), _EXTENTS[what])


def _task(
    name: str, size: str, given: Mapping[str, Array], defined: Definition, made: Call
) -> Task:
    def nothing_to_compare(**_: Any) -> NoReturn:
        raise TaskError(f"[{name}] what is right is said by the puzzle's own task")

    outputs = zip(defined.output_names, made.shapes, made.types, strict=True)
    return Task(
        name=name,
        description="",
        sizes={size: {}},
        inputs={each: _input(array) for each, array in given.items()},
        outputs={
            each: Declared(_shape(shape or (1,)), _dtype(kind.numpy))
            for each, shape, kind in outputs
        },
        reference=nothing_to_compare,
        oracle=nothing_to_compare,
        scale=None,
        constants={},
        dtypes=("float32",),
        headline=size,
        gpu_headlines=(size,),
        baseline="",
        flops_expression=parse(0),
    )


def _input(array: Array) -> Input:
    def drawn(kept: Array, *_: object) -> Array:
        return kept.copy()

    return Input(_shape(array.shape), _dtype(array.dtype), "given", partial(drawn, array))


def _shape(extents: tuple[int, ...]) -> tuple[Expression, ...]:
    return tuple(map(parse, extents))


def _dtype(dtype: np.dtype[Any]) -> DType:
    """Return the element type, also of those that tasks do not have."""
    return DTYPES.get(dtype.name) or DType(dtype.name, dtype.name, dtype.itemsize)
