"""What verification found: the kinds of failure, single findings and the whole report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from metalbench.kind import Kind
from metalbench.verify.place import Place, place_of


@dataclass(frozen=True)
class Finding:
    """One failure: `message` says what was expected, what came, where, and a likely cause."""

    kind: Kind
    message: str
    size: str = ""
    seed: int | None = None
    output: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    @property
    def place(self) -> Place:
        """Where it happened: line, buffer, thread, as far as `message` tells."""
        return place_of(self.message)


@dataclass(frozen=True)
class Comparison:
    """One output against the oracle.

    `error` and `bound` are those of the element nearest to (or furthest beyond) its bound, found
    at `index`; `rms_error` and `rms_bound` are of the whole output (`rms_bound` is infinite where
    there are too few elements for it). `ratio` is the worse of the two ratios: up to 1 passes.
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
        """Error over bound, the worse of the largest error's and the root mean square's."""
        if not self.bound:
            return math.inf if self.error else 0.0
        return max(self.error / self.bound, self.rms_error / self.rms_bound)

    @property
    def passed(self) -> bool:
        """Whether the output is right."""
        return self.ratio <= 1


@dataclass(frozen=True)
class Report:
    """Everything that verification of one kernel found; `skipped` says what was not checked."""

    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    skipped: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @property
    def worst(self) -> Comparison | None:
        """The comparison that is nearest to, or furthest beyond, its bound."""
        return max(self.comparisons, key=lambda each: each.ratio, default=None)

    def __add__(self, other: Report) -> Report:
        return Report(
            self.findings + other.findings,
            self.comparisons + other.comparisons,
            self.skipped + other.skipped,
        )


def merged(reports: Iterable[Report]) -> Report:
    """All reports as one."""
    return sum(reports, Report())
