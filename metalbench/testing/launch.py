"""One launch of an MSL kernel: compiled, with memory for all that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import DispatchError
from metalbench.kernel.installed import include_folders
from metalbench.testing.memory import Memory
from metalbench.testing.source import Source

Array = np.ndarray[Any, Any]
Size = int | tuple[int, ...]


@dataclass(frozen=True)
class Build:
    """Options of compiling a source. `function` may be None for a source with one kernel."""

    source: Source
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
class Bound:
    """A kernel in its memory, ready to run."""

    inputs: Mapping[str, Any]
    memories: Mapping[str, Memory]
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
) -> Bound:
    """Give a kernel its inputs, and memory for outputs by shape and dtype.

    What is both keeps its input until it is written. Raise DispatchError if an argument is
    missing, or does not fit.
    """
    arrays = {name: each for name, each in inputs.items() if isinstance(each, np.ndarray)}
    memories = {}
    for name, (shape, dtype) in outputs.items():
        memories[name] = Memory(device, shape, dtype)
        if name not in arrays:
            memories[name].buffer.mark_unwritten()
    for name, array in arrays.items():
        memories.setdefault(name, Memory(device, array.shape, array.dtype)).fill(array)
    given = {**inputs, **{name: each.buffer for name, each in memories.items()}}
    for each in pipeline.arguments:
        if each.kind != "threadgroup" and each.name not in given:
            raise DispatchError(
                f"[{pipeline.name}] argument {each.name!r} ({each.type}): expected it among the "
                "inputs or outputs, got neither"
            )
    return Bound(inputs, memories, _core.Dispatch(pipeline, given, **grid.options))
