"""Judge an attempt at a puzzle: compilation, results, findings and memory accesses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.checking.findings import Findings
from metalbench.errors import (
    CompileError,
    KernelDied,
    KernelFault,
    TimeLimitExceeded,
)
from metalbench.json_files import read_json
from metalbench.profiling import Profile
from metalbench.puzzle.candidate import (
    CountedRun,
    PuzzleCandidate,
    PuzzleCase,
    Tried,
    check_launch,
    read_candidate,
)
from metalbench.puzzle.puzzle import SCORED, Puzzle, find
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.store.database import store_path
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload
from metalbench.untrusted_files import replace_file
from metalbench.verify import tolerance
from metalbench.verify.explanation import describe_mismatch

Array = np.ndarray[Any, Any]
SECONDS = 20.0
_FAULTS = (KernelDied, KernelFault, TimeLimitExceeded)


@dataclass(frozen=True)
class Score:
    """Accesses of the busiest thread at a size, and the target of the puzzle."""

    size: str
    counts: Mapping[str, int]
    target: Mapping[str, int]

    @property
    def reached(self) -> bool:
        """Whether no count is above its target."""
        return all(self.counts[name] <= self.target[name] for name in SCORED)


@dataclass(frozen=True)
class Wrong:
    """A wrong result: its size, a message, and its elements.

    `bad` marks wrong elements, `unwritten` marks unwritten ones. The arrays are empty for a kernel
    that did not end.
    """

    size: str
    message: str
    got: Array = field(repr=False)
    expected: Array = field(repr=False)
    bad: Array = field(repr=False)
    unwritten: Array = field(repr=False)


@dataclass(frozen=True)
class Attempt:
    """The result of judging a candidate.

    `error` is the compiler's message, if any. `wrong` is the first wrong result. `findings` has one
    entry for each size of the checked build. `scores` are empty unless all results are correct.
    `profile` is that of the first size.
    """

    puzzle: Puzzle
    file: Path
    error: str = ""
    wrong: Wrong | None = None
    findings: tuple[Findings, ...] = ()
    scores: tuple[Score, ...] = ()
    profile: Profile | None = None

    @property
    def clean(self) -> bool:
        """Whether checked builds have run, and found no error."""
        return bool(self.findings) and all(each.passed for each in self.findings)

    @property
    def solved(self) -> bool:
        """Whether it is right and clean at every size."""
        return not self.error and self.wrong is None and self.clean

    @property
    def at_target(self) -> bool:
        """Whether it is solved, with no more accesses than are needed."""
        return self.solved and all(each.reached for each in self.scores)

    @property
    def score(self) -> Score | None:
        """The score of a size that misses its target, else of the last one."""
        missed = tuple(each for each in self.scores if not each.reached)
        shown = missed or self.scores
        return shown[-1] if shown else None


def check(
    which: Puzzle | str | int,
    candidate: Path | str,
    *,
    traced: int = 0,
    time_limit: float = SECONDS,
) -> Attempt:
    """Judge an attempt at a puzzle.

    Parameters
    ----------
    which
        The puzzle, its number or its name.
    candidate
        A .metal file, its text, or a .py file with a function `solve`, which runs in this process.
        Kernels run on the `cpu` device, in a process that has nothing else.
    traced
        How many accesses of each dispatch the profile records one by one, for pictures.
    time_limit
        Seconds for one run of one size.

    Raise DeclarationError for an invalid candidate, and for a launch that differs from the puzzle.
    Defects of a kernel are in the result.
    """
    puzzle = which if isinstance(which, Puzzle) else find(which)
    read = read_candidate(puzzle, candidate)
    return _Judge(puzzle, read, traced, time_limit).attempt()


class _Judge:
    """The runs of one candidate."""

    def __init__(
        self, puzzle: Puzzle, candidate: PuzzleCandidate, traced: int, time_limit: float
    ) -> None:
        self._puzzle = puzzle
        self._candidate = candidate
        self._traced = traced
        self._time_limit = time_limit
        self._device: _core.Device = open_sandboxed_device()
        self._size = ""

    def attempt(self) -> Attempt:
        puzzle, file = self._puzzle, self._candidate.path
        tried: list[Tried] = []
        wrong = None
        for self._size in puzzle.task.sizes:
            try:
                tried.append(self._candidate.run_at(self._size, self._run))
            except CompileError as error:
                return Attempt(puzzle, file, error=str(error))
            except _FAULTS as error:
                none = np.empty(0)
                wrong = Wrong(self._size, str(error), none, none, none, none)
                break
            wrong = self._wrong(tried[-1])
            if wrong is not None:
                break
        profiles = [each.counted.profile for each in tried]
        return Attempt(
            puzzle,
            file,
            wrong=wrong,
            findings=tuple(self._findings()),
            scores=tuple(map(self._score, self._puzzle.task.sizes, profiles)) if not wrong else (),
            profile=profiles[0] if profiles else None,
        )

    def _run(self, case: PuzzleCase) -> CountedRun:
        check_launch(
            case, PuzzleCase(self._puzzle.skeleton, self._puzzle.task, self._size).launch()
        )
        return case.run_counted(self._device, traced=self._traced, time_limit=self._time_limit)

    def _findings(self) -> Sequence[Findings]:
        """Return the findings of each launched size, up to the first one with an error."""
        found: list[Findings] = []
        for size in self._puzzle.task.sizes:
            case = self._candidate.case(size)
            if case is None or (found and not found[-1].passed):
                break
            found.append(case.findings(self._device, time_limit=self._time_limit))
        return found

    def _wrong(self, tried: Tried) -> Wrong | None:
        work = workload(self._puzzle.task, self._size)
        ((name, expected),) = work.expected.items()
        got = tried.answer
        values = got.astype(np.float64) if got.dtype.kind == "f" else got.astype(expected.dtype)
        # The order of a sum is free: the tolerance is the widest one.
        most = tolerance.largest_counted_norms(expected)
        allowance = tolerance.derive_tolerance(expected, most, dtype("float32"))
        compared = tolerance.compare(name, values, expected, tolerance=allowance, scale=expected)
        if compared.passed:
            return None
        bad = tolerance.find_wrong(values, expected, tolerance=allowance, scale=expected)
        unwritten = next(iter(tried.counted.unwritten.values())).reshape(-1)
        shown = unwritten.reshape(got.shape) if unwritten.size == got.size else np.zeros_like(bad)
        _, message = describe_mismatch(
            compared, values, expected, bad=bad, unwritten=shown, inputs=work.inputs
        )
        return Wrong(self._size, message, values, expected, bad, shown)

    def _score(self, size: str, profile: Profile) -> Score:
        (counts,) = profile.dispatches
        return Score(
            size,
            {name: int(getattr(counts, f"most_{name}")) for name in SCORED},
            self._puzzle.target_at(size),
        )


# The progress of a learner, in a file next to the store of results.

FILE_NAME = "puzzles.json"


@dataclass(frozen=True)
class PuzzleState:
    """The state of one puzzle: attempts, hints given, and whether it was solved.

    `score` is that of the best solution so far.
    """

    attempts: int = 0
    hints: int = 0
    solved: bool = False
    at_target: bool = False
    score: Mapping[str, int] = field(default_factory=dict)

    def after(self, attempt: Attempt) -> PuzzleState:
        """Return the same with one more attempt."""
        step = replace(self, attempts=self.attempts + 1)
        if not attempt.solved or attempt.score is None:
            return step
        counts = dict(attempt.score.counts)
        is_better = not self.score or sum(counts.values()) < sum(self.score.values())
        return replace(
            step,
            solved=True,
            at_target=self.at_target or attempt.at_target,
            score=counts if is_better else self.score,
        )


class PuzzleProgress:
    """The steps of all puzzles, by their names; every change is written at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path().with_name(FILE_NAME)
        self._steps = _read(self.path)

    def of(self, name: str) -> PuzzleState:
        """Return the state of a puzzle."""
        return self._steps.get(name, PuzzleState())

    def keep(self, name: str, step: PuzzleState) -> None:
        """Replace the state of a puzzle, also in the file."""
        self._steps[name] = step
        text = json.dumps({key: asdict(each) for key, each in self._steps.items()}, indent=2)
        replace_file(self.path, text + "\n")


def _read(path: Path) -> dict[str, PuzzleState]:
    if not path.exists():
        return {}
    form = "the progress of puzzles (remove it to begin anew)"
    return read_json(path, dict[str, PuzzleState], form=form)


# Advice for beginners in addition to messages of the compiler or of a check.

_OF_COMPILER = (
    (
        r"use of undeclared identifier",
        "A name that nothing declares. A kernel knows its arguments, its own variables and Metal's "
        "functions, and nothing else; is it misspelt?",
    ),
    (
        r"(ambiguous|no matching function).*'(min|max|clamp)'|'(min|max|clamp)' is ambiguous",
        "Both arguments of min and max have one type: of an unsigned number write min(64u, n).",
    ),
    (
        r"expected ';'",
        "A statement ends with a semicolon; the place shown is where the next one begins.",
    ),
    (r"expected '\}'|extraneous closing brace", "Count the braces: one of a pair is missing."),
    (
        r"const-qualified|read-only variable|is not assignable",
        "This can only be read: inputs are `device const`, values `constant`.",
    ),
    (
        r"pointer|address space",
        "Pointers say in which memory they point: device, constant, threadgroup or thread.",
    ),
    (
        r"non-void function|should return a value|void function",
        "A kernel returns nothing; results are assigned to elements of its output.",
    ),
)
_OF_CHECK = {
    "out-of-bounds": "Which thread is it? There are more threads than elements, or an index goes "
    "beyond: compare it first.",
    "race": "Between the write of one thread and the read of another stands no barrier: "
    "`threadgroup_barrier(mem_flags::mem_threadgroup);`. Or two threads write one element.",
    "same-value-race": "Several threads write one element. It does no harm, but costs: let one.",
    "uninitialised": "Memory holds anything at first. Who should have written this element, and "
    "has that thread had something to write?",
    "barrier": "Every thread of a threadgroup must reach a barrier: it may not stand within an "
    "`if`, nor behind a `return`, that only some take.",
    "simdgroup": "All 32 lanes must reach such a function together: it may not stand within an "
    "`if` that only some take.",
    "signed-overflow": "An `int` ends at 2147483647. A `uint` goes twice as far, and wraps.",
    "output-not-written": "Each element of the output needs a thread that writes it.",
    "time-limit": "It does not end: does the loop's variable change in every turn?",
}


def compile_advice(message: str) -> str:
    """A sentence on the first thing that the compiler complains of; empty if there is none."""
    first = next((line for line in message.splitlines() if "error:" in line), message)
    found = (advice for pattern, advice in _OF_COMPILER if re.search(pattern, first))
    return next(found, "")


def finding_advice(kind: str) -> str:
    """Return a sentence on a kind of finding; empty if there is none."""
    return _OF_CHECK.get(kind, "")
