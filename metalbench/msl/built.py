"""What the front end's entry gives `_core`: compiled kernels, and how parameters are written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Built:
    """A compiled kernel.

    `path` is a shared object in the cache that exports what csrc/msl/mb/cpu/abi.h says, or PTX that
    has what gpu/abi.h beside it says. `arguments` are in the order of the kernel's parameters,
    those absent by function constant left out. `engine` is how its threads are run: in `loops`, as
    `fibers`, as `vectors`, or by a GPU (`cuda`); `reason` is why not as vectors.
    Of `vectors`, `widths` are how many threads along x one call may run, the largest first, and
    `lane` is the file with the LLVM IR of one of them. Threadgroups of what has `any_order` cannot
    wait for each other. What the object exports of it ends in `entry_name`, where other kernels lie
    in there too.
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
        """Return the shared object that runs `width` threads a call, compiled at first need.

        With `rows` they lie along x; without, groups may have any shape. What does not fit a stack
        in that shape is an object that runs threads as fibers.
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
    """What a kernel's parameters are bound to; both as in `Built`."""

    arguments: list[dict[str, str | int]]
    attributes: list[dict[str, str]]
