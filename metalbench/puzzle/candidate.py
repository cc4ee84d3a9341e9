"""Candidates of a learner: the kernel of a `.metal` file, or its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from metalbench.kernel import Kernel
from metalbench.puzzle.case import Case, Counted
from metalbench.puzzle.declaration import Puzzle

Array = np.ndarray[Any, Any]
Run = Callable[[Case], Counted]


@dataclass(frozen=True)
class Tried:
    """A candidate at one size: the launched case, its counts, and the answer to judge."""

    case: Case
    counted: Counted
    answer: Array


class Candidate(Protocol):
    """The solution of a learner."""

    path: Path

    def run_at(self, size: str, run: Run) -> Tried:
        """Run it at a size of the puzzle; raise the errors of `run`, and DeclarationError."""

    def case(self, size: str) -> Case | None:
        """Return the launch at a size; None if it is unknown because nothing has run yet."""


class MetalFile:
    """A kernel in MSL, with the arguments of the puzzle's skeleton."""

    def __init__(self, puzzle: Puzzle, kernel: Kernel) -> None:
        self.path = kernel.path
        self._puzzle = puzzle
        self._kernel = kernel

    def case(self, size: str) -> Case:
        """Return the kernel with the puzzle's own task."""
        return Case(self._kernel, self._puzzle.task, size)

    def run_at(self, size: str, run: Run) -> Tried:
        """Run it at a size of the puzzle."""
        case = self.case(size)
        counted = run(case)
        (answer,) = counted.outputs.values()
        return Tried(case, counted, answer)
