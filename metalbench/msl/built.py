"""Results of the engine for `_core`: compiled kernels, and the bindings of their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class CompiledKernel:
    """A compiled kernel.

    `path` is a shared object in the cache with the exports of csrc/msl/mb/cpu/abi.h, or PTX with
    the entry of gpu/abi.h. `arguments` are in the order of the kernel's parameters, without those
    that a function constant removes. `engine` is the execution mode of its threads: `loops`,
    `fibers`, `vectors`, or `cuda` for a GPU; `reason` says why it is not `vectors`. For `vectors`,
    `widths` are the numbers of threads along x that one call may run, the largest first, and `lane`
    is the file with the LLVM IR of one of them. With `any_order`, threadgroups never wait for each
    other. The exported names end in `entry_name` if the object contains several kernels.
    """

    name: str
    path: str
    arguments: list[dict[str, str | int]]
    attributes: list[dict[str, str]]
    max_threads: int
    needs_fibers: bool
    engine: str = "fibers"
    reason: str = ""
    widths: tuple[int, ...] = ()
    lane: str = ""
    fast_math: bool = True
    spaces: bool = False
    any_order: bool = False
    entry_name: str = ""

    def entry(self, width: int, rows: bool) -> str:
        """Return the shared object that runs `width` threads a call; compile it on first use.

        With `rows` the threads lie along x, otherwise a group may have any shape. If the vectors
        need too much stack, the object runs threads as fibers.
        """
        from metalbench.msl.building.threads import compile_fibers_from_file
        from metalbench.msl.building.vectors import entry_of
        from metalbench.msl.emission.body import LaunchShape
        from metalbench.msl.ir.text import IrError

        lane, launch = Path(self.lane), LaunchShape(width, rows)
        try:
            return str(entry_of(lane, launch, self.name, fast_math=self.fast_math))
        except IrError:
            text = lane.with_suffix(".cpp")
            kind = {"fast_math": self.fast_math, "spaces": self.spaces}
            return str(compile_fibers_from_file(text, self.name, **kind))

    @cached_property
    def lowered(self) -> str:
        """The C++ text that was compiled."""
        compiled = Path(self.lane or self.path)
        return compiled.with_suffix(".cpp").read_text()


@dataclass(frozen=True)
class Signature:
    """The bindings of a kernel's parameters, as in `CompiledKernel`."""

    arguments: list[dict[str, str | int]]
    attributes: list[dict[str, str]]
