"""Findings, comparisons with the oracle, and the report of a verification."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from metalbench.kind import Kind
from metalbench.verify.place import FindingPlace, place_of


@dataclass(frozen=True)
class Finding:
    """One failure: `message` has the expected and actual value, the place, and a likely cause."""

    kind: Kind
    message: str
    size: str = ""
    seed: int | None = None
    output: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    @property
    def place(self) -> FindingPlace:
        """The location: line, buffer and thread, as far as `message` has them."""
        return place_of(self.message)


@dataclass(frozen=True)
class Comparison:
    """The comparison of one output with the oracle.

    `error` and `bound` are of the element at `index`, which is nearest to its bound or furthest
    beyond. `rms_error` and `rms_bound` are of the whole output; `rms_bound` is infinite for an
    output with too few elements. `ratio` is the larger of the two ratios: up to 1 passes.
    """

    output: str
    error: float
    bound: float
    index: tuple[int, ...]
    expected: float
    got: float
    rms_error: float
    rms_bound: float
    size: str = ""
    seed: int = 0
    dtype: str = "float32"

    @property
    def ratio(self) -> float:
        """Error / bound: the larger of the ratios of the largest error and the root mean square."""
        if not self.bound:
            return math.inf if self.error else 0.0
        return max(self.error / self.bound, self.rms_error / self.rms_bound)

    @property
    def passed(self) -> bool:
        """Whether the output is correct."""
        return self.ratio <= 1


@dataclass(frozen=True)
class Report:
    """The findings and comparisons of one kernel; `skipped` has notes about omitted checks."""

    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    skipped: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest ratio."""
        return max(self.comparisons, key=lambda each: each.ratio, default=None)

    def __add__(self, other: Report) -> Report:
        return Report(
            self.findings + other.findings,
            self.comparisons + other.comparisons,
            self.skipped + other.skipped,
        )


def merge_reports(reports: Iterable[Report]) -> Report:
    """Merge reports into one."""
    return sum(reports, Report())
