"""Compile MSL from a text or a file, and launch it on arrays for tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import DeclarationError, DispatchError, suggestion
from metalbench.kernel.memory import GuardedBuffer
from metalbench.kernel.source_files import include_folders
from metalbench.mlx.call import as_numpy, is_mlx
from metalbench.task.dtypes import dtype as element_type


@dataclass(frozen=True)
class KernelSource:
    """A text and what messages call it; `path` is its file, if it is in one."""

    text: str
    filename: str
    path: Path | None = None

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1; empty if there is no such line."""
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


def read_source(given: str | Path) -> KernelSource:
    """Read `given`: a path, or text, which unlike a path has several lines or a brace.

    Raise DeclarationError if there is no such file.
    """
    if isinstance(given, str) and any(mark in given for mark in "\n{"):
        return KernelSource(given, "<source>")
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise DeclarationError(
            f"{path}: expected MSL source, or the path of a file with it; {error.strerror}"
        ) from error
    return KernelSource(text, str(path), path)


# An array in a device's memory, between guard zones.

Array = np.ndarray[Any, Any]


class ArrayMemory:
    """Memory for an array of any dtype; it is poisoned until something is written."""

    def __init__(self, device: _core.Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        nbytes = math.prod(shape) * dtype.itemsize
        self._guarded = GuardedBuffer(device, (nbytes,), element_type("uint8"))
        self._guarded.poison()

    @property
    def buffer(self) -> _core.Buffer:
        """The buffer for the kernel."""
        return self._guarded.buffer

    @property
    def array(self) -> Array:
        """The memory itself: a writable view."""
        view: Array = self._guarded.bytes.view(self.dtype).reshape(self.shape)
        return view

    def fill(self, array: Array) -> None:
        """Copy an array of this shape and dtype in."""
        self._guarded.fill(array)

    def holds(self, array: Array) -> bool:
        """Return whether the memory still has the bits of `array`."""
        return self._guarded.holds(array)

    def unwritten(self) -> Array:
        """Return a boolean array that marks unwritten elements."""
        marks = self._guarded.unwritten()
        return np.asarray(marks.reshape(*self.shape, self.dtype.itemsize).all(axis=-1))

    def broken_guard(self) -> str:
        """Return the place of a write outside of the array, as a phrase; empty for none."""
        return self._guarded.broken_guard()


# Convert inputs to the types of a kernel's arguments.

# The dtypes that NumPy gives to Python numbers.
_WIDE = ("float64", "int64", "uint64")


def dtype_of(argument: _core.Argument) -> np.dtype[Any] | None:
    """Return the declared dtype of a buffer; None for structs of the kernel."""
    if argument.element == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(argument.element) if argument.element is not None else None


def buffers_of(pipeline: _core.Pipeline) -> dict[str, _core.Argument]:
    """Return the buffers that a kernel takes, by name."""
    return {each.name: each for each in pipeline.arguments if each.kind == "buffer"}


def read_inputs(pipeline: _core.Pipeline, inputs: Mapping[str, object]) -> dict[str, Any]:
    """Return the inputs by name: arrays in the types that the kernel declares, scalars as they are.

    NumPy's own float64 and 64-bit integers become the declared type of their kind. Raises
    DispatchError for a name or a type that the kernel does not take.
    """
    known = {each.name: each for each in pipeline.arguments if each.kind != "threadgroup"}
    for name in inputs:
        if name not in known:
            raise DispatchError(
                f"[{pipeline.name}] inputs: the kernel takes no {name!r}; {suggestion(name, known)}"
            )
    return {
        name: _read(f"[{pipeline.name}] inputs: {name}", value, known[name])
        for name, value in inputs.items()
    }


def _read(where: str, value: object, argument: _core.Argument) -> Any:
    if argument.kind != "buffer":
        return value
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if is_mlx(value):
        value = as_numpy(value, where)
    if not isinstance(value, np.ndarray):
        return value
    wanted = dtype_of(argument)
    if wanted is None or value.dtype == wanted:
        return np.ascontiguousarray(value)
    return np.ascontiguousarray(_convert(where, value, wanted, argument.type))


def _convert(where: str, array: Array, wanted: np.dtype[Any], written: str) -> Array:
    numbers = array.dtype.name in _WIDE
    floats = array.dtype.kind == "f" and _is_float(wanted)
    integers = array.dtype.kind in "iu" and wanted.kind in "iu"
    if numbers and (floats or integers):
        with np.errstate(over="ignore"):
            converted = array.astype(wanted)
        if floats or np.array_equal(converted, array):
            return converted
        raise DispatchError(f"{where}: expected integers that fit {written}, got {array.dtype}")
    raise DispatchError(f"{where}: expected {wanted} ({written}), got {array.dtype}")


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


# One launch of an MSL kernel: compiled, with memory for all that it takes.

Size = int | tuple[int, ...]


@dataclass(frozen=True)
class Build:
    """Options of compiling a source. `function` may be None for a source with one kernel."""

    source: KernelSource
    function: str | None = None
    macros: Mapping[str, object] = field(default_factory=dict)
    constants: Mapping[int | str, Any] = field(default_factory=dict)
    include_dirs: Sequence[str | Path] = ()
    fast_math: bool = True

    def pipeline(self, device: _core.Device, *, checked: bool) -> _core.Pipeline:
        """Compile for a device; raises CompileError, Unsupported."""
        library = device.compile(
            self.source.text,
            filename=self.source.filename,
            macros={name: str(value) for name, value in self.macros.items()},
            include_dirs=include_folders(self.source.path, self.include_dirs),
            checked=checked,
            fast_math=self.fast_math,
            # Without it a variable that was never set is not followed to where it is used.
            tools=["init"] if checked else [],
        )
        return library.pipeline(self.function, constants=dict(self.constants))


@dataclass(frozen=True)
class Grid:
    """Threads of a launch: `threads` of the grid, or `threadgroups`, with `threadgroup` threads.

    As MLX does, a threadgroup is cut to the size of a grid of threads.
    """

    threads: Size | None
    threadgroups: Size | None
    threadgroup: Size
    threadgroup_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `_core.Dispatch`; raises DispatchError unless one of the grids is given."""
        if (self.threads is None) == (self.threadgroups is None):
            raise DispatchError(
                "expected grid= (threads in all) or threadgroups=, "
                f"got {'neither' if self.threads is None else 'both'}"
            )
        sizes = {"threadgroup_bytes": dict(self.threadgroup_bytes)}
        if self.threads is None:
            return {**sizes, "threadgroups": self.threadgroups, "threads": self.threadgroup}
        cut = map(min, _three(self.threads), _three(self.threadgroup))
        return {**sizes, "threads_in_grid": self.threads, "threads": tuple(cut)}


def _three(size: Size) -> tuple[int, ...]:
    given = tuple(size) if isinstance(size, Sequence) else (size,)
    return (*given, 1, 1, 1)[:3]


@dataclass(frozen=True)
class BoundLaunch:
    """A kernel in its memory, ready to run."""

    inputs: Mapping[str, Any]
    memories: Mapping[str, ArrayMemory]
    dispatch: _core.Dispatch

    @property
    def arrays(self) -> dict[str, Array]:
        """The inputs that are arrays."""
        return {name: each for name, each in self.inputs.items() if isinstance(each, np.ndarray)}


def bind(
    device: _core.Device,
    pipeline: _core.Pipeline,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
    grid: Grid,
) -> BoundLaunch:
    """Give a kernel its inputs, and memory for outputs by shape and dtype.

    What is both keeps its input until it is written. Raise DispatchError if an argument is
    missing, or does not fit.
    """
    arrays = {name: each for name, each in inputs.items() if isinstance(each, np.ndarray)}
    memories = {}
    for name, (shape, dtype) in outputs.items():
        memories[name] = ArrayMemory(device, shape, dtype)
        if name not in arrays:
            memories[name].buffer.mark_unwritten()
    for name, array in arrays.items():
        memories.setdefault(name, ArrayMemory(device, array.shape, array.dtype)).fill(array)
    given = {**inputs, **{name: each.buffer for name, each in memories.items()}}
    for each in pipeline.arguments:
        if each.kind != "threadgroup" and each.name not in given:
            raise DispatchError(
                f"[{pipeline.name}] argument {each.name!r} ({each.type}): expected it among the "
                "inputs or outputs, got neither"
            )
    return BoundLaunch(inputs, memories, _core.Dispatch(pipeline, given, **grid.options))
