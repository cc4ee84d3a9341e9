"""Run a candidate at one size, counted and checked, in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.checking import Findings
from metalbench.checking.check import check_subject
from metalbench.checking.finding import Finding, Frame
from metalbench.checking.kinds import TOOLS
from metalbench.checking.subject import Subject
from metalbench.errors import DeclarationError
from metalbench.kernel import Kernel
from metalbench.kernel.geometry import evaluate_extents
from metalbench.kernel.prepare import compile_kernel
from metalbench.profiling import Profile
from metalbench.profiling.counted_run import read_profile
from metalbench.task import Task
from metalbench.task.workload import workload

Array = np.ndarray[Any, Any]
Launch = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Text:
    """A part of a source with the name `name` for the compiler, after `lines` of the file."""

    name: str
    file: Path
    lines: int


@dataclass(frozen=True)
class Case:
    """A kernel, the task of its arguments, and the size to run.

    `texts` map parts of the source to the files that they come from.
    """

    kernel: Kernel
    task: Task
    size: str
    texts: tuple[Text, ...] = ()

    def launch(self) -> Launch:
        """Return the threads of the grid and of a threadgroup, in three dimensions.

        Raise DeclarationError unless the kernel is dispatched once.
        """
        lines = self.kernel.dispatches
        if len(lines) != 1:
            raise DeclarationError(
                f"[{self.kernel.name}] {self.kernel.path.name}: expected one `// dispatch:` line, "
                f"got {len(lines)}"
            )
        (line,) = lines
        values, where = self.task.values(self.size), f"[{self.kernel.name}] dispatch"
        threads = evaluate_extents(line.threads, values, where)
        if line.threads_in_grid is None:
            groups = evaluate_extents(line.threadgroups or (), values, where)
            return tuple(a * b for a, b in zip(groups, threads, strict=True)), threads
        grid = evaluate_extents(line.threads_in_grid, values, where)
        # As MLX has it, a threadgroup is no larger than the grid.
        return grid, tuple(map(min, threads, grid))

    def run_counted(self, device: _core.Device, *, traced: int, time_limit: float) -> Counted:
        """Run a counted build once; raises CompileError and the device's errors."""
        compiled = compile_kernel(device, self.kernel, self.task, counted=True, traced=traced)
        bound = compiled.bind(workload(self.task, self.size))
        bound.poison()
        device.run(bound.dispatches, time_limit=time_limit)
        return Counted(
            read_profile(compiled, bound),
            {name: bound.read(name).copy() for name in bound.outputs},
            {name: each.unwritten() for name, each in bound.outputs.items()},
        )

    def findings(self, device: _core.Device, *, time_limit: float) -> Findings:
        """Return all that a checked build finds."""
        subject = Subject(self.kernel, self.task, (self.size,))
        return check_subject(
            subject, device, TOOLS, time_limit=time_limit, relocate=self._map_lines
        )

    def _map_lines(self, finding: Finding) -> Finding:
        """Return a finding with the lines of the files that the source was taken from."""
        if not self.texts:
            return finding
        return replace(finding, frames=tuple(map(self._frame, finding.frames)))

    def _frame(self, frame: Frame) -> Frame:
        for text in self.texts:
            if frame.file == text.name:
                return replace(frame, file=str(text.file), line=frame.line + text.lines)
        # A line of the generated signature is not in the file; the source is nearest.
        text = self.texts[-1]
        return replace(frame, file=str(text.file), line=text.lines + 1, column=0)


@dataclass(frozen=True)
class Counted:
    """The result of a counted run: profile, outputs, and masks of unwritten elements."""

    profile: Profile
    outputs: Mapping[str, Array]
    unwritten: Mapping[str, Array]


def check_launch(case: Case, expected: Launch) -> None:
    """Raise DeclarationError unless a kernel is launched as its puzzle says."""
    got = case.launch()
    if got != expected:
        raise DeclarationError(
            f"[{case.kernel.name}] launch at size {case.size}: "
            f"expected {_format_launch(expected)}, got {_format_launch(got)}; "
            "the number of threads is part of the puzzle"
        )


def _format_launch(launch: Launch) -> str:
    grid, threads = launch
    shape = " x ".join(map(str, threads))
    return f"{prod(grid):,} threads ({' x '.join(map(str, grid))}) in threadgroups of {shape}"
