"""What makes times worth less: what happened, the likely cause, what to do.

The manner is that of hyperfine's warnings. None of them takes a time away: they tell how far to
trust it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metalbench.report import numbers
from metalbench.result import Result
from metalbench.stats import MARGIN, DistributionMode, Drift, Verdict, find_outliers, judge

if TYPE_CHECKING:
    from metalbench.measure import Measurement
    from metalbench.stats import Judgement

# Some outliers are usual on any machine that does more than measure.
USUAL_OUTLIERS = 0.05
STEADY = 0.90
# A probe of fixed work that takes so much longer at times did not have its device to itself.
UNDISTURBED = 0.10
# Of kernels in one line.
MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Doubt:
    """One doubt: `title` is the same for every kernel, `seen` has the kernel's own figures."""

    title: str
    seen: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.title}: {self.seen}. {self.advice}"

    @property
    def advice(self) -> str:
        """What is the same for every kernel that it is about."""
        return f"Likely {self.cause}; {self.remedy}."


def warnings(measured: Measurement) -> list[Doubt]:
    """Every doubt about a measurement's times of the kernel, the gravest first."""
    times = measured.samples.candidate_ns
    several = list(_modes(usual_times(measured)))
    # Of two usual values one looks like outliers of the other.
    found = [
        *several,
        *_drift(measured.drift),
        *_slow_start(times),
        *([] if several else _outliers(times)),
    ]
    return [
        *(found or _unsteady(measured.stability)),
        *_clocks(measured),
        *_disturbed(measured),
        *_taken_out(measured.judgement),
    ]


def warning_lines(results: Sequence[Result]) -> list[str]:
    """Each kind of warning once, with the kernels that it is about and their figures."""
    lines = []
    for title, found in _by_title(results).items():
        about = ", ".join(f"{task} ({each.seen})" for task, each in found)
        lines.append(f"{title}: {about}. {found[0][1].advice}")
    return lines


def brief_warning_lines(results: Sequence[Result]) -> list[str]:
    """Each kind of warning in one line that fits a terminal, and who tells more."""
    lines = []
    for title, found in _by_title(results).items():
        tasks = list(dict.fromkeys(task for task, _ in found))
        more = f" and {len(tasks) - MOST_NAMES} more" if len(tasks) > MOST_NAMES else ""
        lines.append(f"{title}: {', '.join(tasks[:MOST_NAMES])}{more}.")
    if lines:
        lines[-1] += " Causes and remedies: -v, or one NAME alone."
    return lines


def _by_title(results: Sequence[Result]) -> dict[str, list[tuple[str, Doubt]]]:
    """Every warning by its title, with the task that it is about."""
    about: dict[str, list[tuple[str, Doubt]]] = {}
    for result in results:
        for each in warnings(result.measurement) if result.measurement is not None else ():
            about.setdefault(each.title, []).append((result.case.task, each))
    return about


def usual_times(measured: Measurement) -> tuple[DistributionMode, ...]:
    """The usual times in nanoseconds with their shares, from the shortest; one as a rule."""
    return tuple(DistributionMode(math.exp(each.value), each.share) for each in measured.modes)


def modes_text(modes: Sequence[DistributionMode]) -> str:
    """``11.9 us in 60 % and 14.2 us in 40 %``."""
    return " and ".join(
        f"{numbers.short_time(each.value)} in {100 * each.share:.0f} %" for each in modes
    )


def _modes(modes: Sequence[DistributionMode]) -> Iterator[Doubt]:
    if len(modes) > 1:
        yield Doubt(
            "Several usual times",
            f"{modes_text(modes)} of the windows",
            "a clock that changes between two states, memory that lies differently, or another "
            "program that runs at times",
            "the median is one of them or lies between: go by the usual times, and look for what "
            "changes",
        )


def _drift(drift: Drift | None) -> Iterator[Doubt]:
    if drift is not None and drift.is_significant and abs(drift.total) > MARGIN:
        yield Doubt(
            "Drift",
            f"{100 * drift.total:+.1f} % from the first window to the last",
            "a machine that warms up or cools down, or another program that came or went",
            "ratios are of pairs and mind it little, times do: let the machine settle and run "
            "again",
        )


def _slow_start(times: NDArray[np.float64]) -> Iterator[Doubt]:
    odd = find_outliers(times)
    if odd[0] and times[0] > np.median(times) and not odd[1:].mean() > USUAL_OUTLIERS:
        yield Doubt(
            "Slow start",
            f"the first window took {times[0] / np.median(times):.1f} times the median",
            "caches or clocks that were not yet warm",
            "the median does not mind one window; run again if you need the mean of all",
        )


def _outliers(times: NDArray[np.float64]) -> Iterator[Doubt]:
    count = int(find_outliers(times).sum())
    if count > USUAL_OUTLIERS * times.size:
        yield Doubt(
            "Outliers",
            f"{count} of {numbers.count(times.size, 'window')}",
            "other programs or the system, which interrupted the kernel",
            "they are kept, for they happened; close other programs and run again",
        )


def _disturbed(measured: Measurement) -> Iterator[Doubt]:
    """What the probe saw; of a device with a clock of its own the measurement itself tells it."""
    spread = measured.steadiness.spread
    if measured.samples.own is None and spread is not None and spread > UNDISTURBED:
        yield Doubt(
            "Busy machine",
            f"work of a fixed length took {100 * spread:.0f} % longer at times",
            "other programs on the same device, or a clock that goes up and down",
            "ratios are of pairs and stand it; for times close other programs and run again",
        )


def _clocks(measured: Measurement) -> Iterator[Doubt]:
    """Where wall time would have the opposite verdict."""
    by_wall, opposite = measured.by_wall, {Verdict.FASTER, Verdict.SLOWER}
    if by_wall is not None and {measured.verdict, judge(by_wall.ratio)} == opposite:
        yield Doubt(
            "Wall time says the opposite",
            f"MLX / kernel is {numbers.ratio(measured.ratio)} of GPU time and "
            f"{numbers.ratio(by_wall.ratio)} of wall time",
            "work of the host, or launches, which cost one side more than the other",
            "the verdict is of the kernels' own time; a program also waits for the rest, less so "
            "at larger sizes",
        )


def _taken_out(judgement: Judgement | None) -> Iterator[Doubt]:
    """What was taken out of the ratio, and is still in the times."""
    second = judgement.order_effect if judgement is not None else None
    levels = judgement.batch_spread if judgement is not None else None
    if second is not None and abs(second) >= MARGIN:
        longer = "longer" if second > 0 else "less"
        yield Doubt(
            "Order of the pair",
            f"what runs second takes {100 * abs(second):.1f} % {longer}",
            "caches, clocks or memory that the first leaves in another state for the second",
            "it is taken out of the ratio; half of the windows of both sides have it",
        )
    if levels is not None and levels >= MARGIN:
        yield Doubt(
            "A level for each look",
            f"the ratio differs by {100 * levels:.1f} % between looks, which have other inputs",
            "a kernel whose time hangs on the values or the place of its inputs",
            "the looks, not their pairs, are what the ratio's interval counts: more of them come "
            "with --time",
        )


def _unsteady(stability: float) -> Iterator[Doubt]:
    if stability < STEADY:
        yield Doubt(
            "Unsteady times",
            f"the central 90 % spread by {100 * (1 - stability):.0f} % about the median",
            "a busy machine, or a kernel whose time hangs on where its memory lies",
            "close other programs and run again; more samples (--time) narrow the interval all "
            "the same",
        )
