"""Warnings about times: what happened, the likely cause, the remedy.

The form is that of hyperfine's warnings. They do not change a time: they qualify it.
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

# A smaller share of outliers is usual on any machine with other processes.
USUAL_OUTLIERS = 0.05
STEADY = 0.90
# Relative spread of a probe of fixed work from which the device counts as shared.
UNDISTURBED = 0.10
# Names of kernels in one line.
MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class TimeWarning:
    """One warning: `title` is the same for every kernel, `seen` has the kernel's figures."""

    title: str
    seen: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.title}: {self.seen}. {self.advice}"

    @property
    def advice(self) -> str:
        """Cause and remedy, the same for every kernel."""
        return f"Likely {self.cause}; {self.remedy}."


def list_warnings(measured: Measurement) -> list[TimeWarning]:
    """Return every warning about a measurement's times of the kernel, the most serious first."""
    times = measured.samples.candidate_ns
    several = list(_modes(usual_times(measured)))
    # With two modes, the samples of one look like outliers of the other.
    found = [
        *several,
        *_drift(measured.drift),
        *_slow_start(times),
        *([] if several else _outliers(times)),
    ]
    return [
        *(found or _unsteady(measured.stability)),
        *_clocks(measured),
        *_warn_of_other_load(measured),
        *_warn_of_removed_effects(measured.judgement),
    ]


def warning_lines(results: Sequence[Result]) -> list[str]:
    """Return each kind of warning once, with its kernels and their figures."""
    lines = []
    for title, found in _by_title(results).items():
        about = ", ".join(f"{task} ({each.seen})" for task, each in found)
        lines.append(f"{title}: {about}. {found[0][1].advice}")
    return lines


def brief_warning_lines(results: Sequence[Result]) -> list[str]:
    """Return each kind of warning in one short line, and the option for details."""
    lines = []
    for title, found in _by_title(results).items():
        tasks = list(dict.fromkeys(task for task, _ in found))
        more = f" and {len(tasks) - MOST_NAMES} more" if len(tasks) > MOST_NAMES else ""
        lines.append(f"{title}: {', '.join(tasks[:MOST_NAMES])}{more}.")
    if lines:
        lines[-1] += " Causes and remedies: -v, or one NAME alone."
    return lines


def _by_title(results: Sequence[Result]) -> dict[str, list[tuple[str, TimeWarning]]]:
    """Return every warning by its title, with its task."""
    about: dict[str, list[tuple[str, TimeWarning]]] = {}
    for result in results:
        for each in list_warnings(result.measurement) if result.measurement is not None else ():
            about.setdefault(each.title, []).append((result.case.task, each))
    return about


def usual_times(measured: Measurement) -> tuple[DistributionMode, ...]:
    """Return the modes of the times in ns with their shares, from the shortest; usually one."""
    return tuple(DistributionMode(math.exp(each.value), each.share) for each in measured.modes)


def modes_text(modes: Sequence[DistributionMode]) -> str:
    """Return ``11.9 us in 60 % and 14.2 us in 40 %``."""
    return " and ".join(
        f"{numbers.short_time(each.value)} in {100 * each.share:.0f} %" for each in modes
    )


def _modes(modes: Sequence[DistributionMode]) -> Iterator[TimeWarning]:
    if len(modes) > 1:
        yield TimeWarning(
            "Several usual times",
            f"{modes_text(modes)} of the windows",
            "a clock that changes between two states, memory that lies differently, or another "
            "program that runs at times",
            "the median is one of them or lies between: go by the usual times, and look for what "
            "changes",
        )


def _drift(drift: Drift | None) -> Iterator[TimeWarning]:
    if drift is not None and drift.is_significant and abs(drift.total) > MARGIN:
        yield TimeWarning(
            "Drift",
            f"{100 * drift.total:+.1f} % from the first window to the last",
            "a machine that warms up or cools down, or another program that came or went",
            "ratios are of pairs and mind it little, times do: let the machine settle and run "
            "again",
        )


def _slow_start(times: NDArray[np.float64]) -> Iterator[TimeWarning]:
    odd = find_outliers(times)
    if odd[0] and times[0] > np.median(times) and not odd[1:].mean() > USUAL_OUTLIERS:
        yield TimeWarning(
            "Slow start",
            f"the first window took {times[0] / np.median(times):.1f} times the median",
            "caches or clocks that were not yet warm",
            "the median does not mind one window; run again if you need the mean of all",
        )


def _outliers(times: NDArray[np.float64]) -> Iterator[TimeWarning]:
    count = int(find_outliers(times).sum())
    if count > USUAL_OUTLIERS * times.size:
        yield TimeWarning(
            "Outliers",
            f"{count} of {numbers.count(times.size, 'window')}",
            "other programs or the system, which interrupted the kernel",
            "they are kept, for they happened; close other programs and run again",
        )


def _warn_of_other_load(measured: Measurement) -> Iterator[TimeWarning]:
    """Yield the warning of the probe; with a separate device clock the probe is not needed."""
    spread = measured.steadiness.spread
    if measured.samples.own is None and spread is not None and spread > UNDISTURBED:
        yield TimeWarning(
            "Busy machine",
            f"work of a fixed length took {100 * spread:.0f} % longer at times",
            "other programs on the same device, or a clock that goes up and down",
            "ratios are of pairs and stand it; for times close other programs and run again",
        )


def _clocks(measured: Measurement) -> Iterator[TimeWarning]:
    """Yield the warning of an opposite verdict of wall times."""
    by_wall, opposite = measured.by_wall, {Verdict.FASTER, Verdict.SLOWER}
    if by_wall is not None and {measured.verdict, judge(by_wall.ratio)} == opposite:
        yield TimeWarning(
            "Wall time says the opposite",
            f"MLX / kernel is {numbers.ratio(measured.ratio)} of GPU time and "
            f"{numbers.ratio(by_wall.ratio)} of wall time",
            "work of the host, or launches, which cost one side more than the other",
            "the verdict is of the kernels' own time; a program also waits for the rest, less so "
            "at larger sizes",
        )


def _warn_of_removed_effects(judgement: Judgement | None) -> Iterator[TimeWarning]:
    """Yield warnings of effects that are removed from the ratio, but not from the times."""
    second = judgement.order_effect if judgement is not None else None
    levels = judgement.batch_spread if judgement is not None else None
    if second is not None and abs(second) >= MARGIN:
        longer = "longer" if second > 0 else "less"
        yield TimeWarning(
            "Order of the pair",
            f"what runs second takes {100 * abs(second):.1f} % {longer}",
            "caches, clocks or memory that the first leaves in another state for the second",
            "it is taken out of the ratio; half of the windows of both sides have it",
        )
    if levels is not None and levels >= MARGIN:
        yield TimeWarning(
            "A level for each look",
            f"the ratio differs by {100 * levels:.1f} % between looks, which have other inputs",
            "a kernel whose time hangs on the values or the place of its inputs",
            "the looks, not their pairs, are what the ratio's interval counts: more of them come "
            "with --time",
        )


def _unsteady(stability: float) -> Iterator[TimeWarning]:
    if stability < STEADY:
        yield TimeWarning(
            "Unsteady times",
            f"the central 90 % spread by {100 * (1 - stability):.0f} % about the median",
            "a busy machine, or a kernel whose time hangs on where its memory lies",
            "close other programs and run again; more samples (--time) narrow the interval all "
            "the same",
        )
