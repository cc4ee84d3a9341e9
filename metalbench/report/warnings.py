"""Text of device facts, marks and warnings about times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metalbench.report import numbers
from metalbench.report.numbers import label
from metalbench.stats import (
    MARGIN,
    DistributionMode,
    Drift,
    Verdict,
    find_outliers,
    judge,
)
from metalbench.store.result import DeviceFacts, Fact, Facts, Result

if TYPE_CHECKING:
    from metalbench.measure.measurement import Measurement
    from metalbench.stats import Judgement


def facts_text(facts: Facts) -> str:
    """Return ``low power mode no, allocated 12.0 MiB``; units of names move to the values."""
    return ", ".join(_fact(name, value) for name, value in facts.items())


def _fact(name: str, value: Fact) -> str:
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return f"{words} {'yes' if value else 'no'}"
    if isinstance(value, list):
        return f"{words} {' '.join(value) or 'none'}"
    if not isinstance(value, str):
        if name.endswith("_bytes"):
            return f"{words.removesuffix(' bytes')} {numbers.size(value)}"
        if name.endswith("_ns"):
            return f"{words.removesuffix(' ns')} {numbers.short_time(value)}"
    return f"{words} {value}"


# Statements of every report about its device.

SIMULATION = (
    "Times are host times of a simulation: the Metal kernels and MLX both ran on this CPU. "
    "They say nothing about the speed of a GPU and are not comparable with GPU results."
)


CLOCKS = {
    "GPU time": (
        "Times, ratios and verdicts are of GPU time, on the GPU's own clock: what the kernels "
        "cost. By wall time is what a program sees, with the host's work and the way to the GPU."
    ),
    "wall time": (
        "Kernel, MLX and their ratio are wall times of equal windows, for the GPU's clock did not "
        "tell all of MLX's. GPU time, GFLOP/s and GB/s are of the kernel alone, on that clock."
    ),
}


def clock_notice(results: Sequence[Result]) -> str | None:
    """Return the statement on the clock of the ratios, if the device has a separate clock."""
    tasks: dict[str, dict[str, None]] = {}
    for each in results:
        if each.measurement is not None and each.measurement.clock is not None:
            tasks.setdefault(each.measurement.clock, {})[each.case.task] = None
    told = [
        CLOCKS[clock] if len(tasks) == 1 else f"{', '.join(about)}: {CLOCKS[clock]}"
        for clock, about in sorted(tasks.items())
    ]
    return " ".join(told) or None


def device_line(device: DeviceFacts) -> str:
    """Return ``cpu (Example CPU, 2 cores)``; virtual GPUs report no number of cores."""
    chip = f", {device.chip}" if device.chip else ""
    cores = f", {numbers.count(device.cores, 'core')}" if device.cores else ""
    return f"{device.kind} ({device.name}{chip}{cores})"


def simulation_notice(device: DeviceFacts) -> str | None:
    """Return the statement of a simulation's reports; None for a real device."""
    return SIMULATION if device.simulated else None


# Marks for missing or weak verdicts, with evidence and remedy.

LAUNCH_BOUND = "LAUNCH-BOUND"
# More marks than that are one line for each kind.
MOST_MARKS = 3
REMEDIES = {
    Verdict.INCONCLUSIVE.value: "Measure longer (--time), or with less else running.",
    Verdict.THROTTLED.value: "Let the machine cool, and measure again.",
    LAUNCH_BOUND: "An empty kernel takes nearly as long; take a larger --size.",
}
# Reasons for measurements that were stored without their judgement.
UNKNOWN = {
    Verdict.INCONCLUSIVE: "the samples do not carry a verdict; measure longer, with --time",
    Verdict.THROTTLED: "the device's clock stayed low; let the machine cool, and measure again",
}


def format_marks(results: Sequence[Result]) -> Iterator[str]:
    """Yield ``softmax: INCONCLUSIVE: the ratio's interval is 4.0% wide, ...; measure ...``."""
    cases = [result.case for result in results]
    several = len({case.dtype for case in cases}) > 1
    sizes = len({case.size for case in cases}) > 1
    for result in results:
        if result.measurement is None:
            continue
        case = result.case
        about = label(case.task, case.dtype if several else "float32", case.size if sizes else "")
        for mark, why in list_marks(result.measurement):
            yield f"{about}: {mark}: {why}."


def brief_mark_lines(results: Sequence[Result]) -> list[str]:
    """Return the lines of `format_marks` if they are few, else a line for each mark."""
    lines = list(format_marks(results))
    if len(lines) <= MOST_MARKS:
        return lines
    tasks: dict[str, dict[str, None]] = {}
    for result in results:
        for mark, _ in list_marks(result.measurement) if result.measurement is not None else ():
            tasks.setdefault(mark, {})[result.case.task] = None
    return [
        f"{numbers.count(len(about), 'kernel')} {mark}: {list_names(about)}. {REMEDIES[mark]}"
        for mark, about in tasks.items()
    ]


def list_marks(measured: Measurement) -> Iterator[tuple[str, str]]:
    """Yield every mark of a missing or weak verdict, with its reason and remedy."""
    if measured.verdict in (Verdict.INCONCLUSIVE, Verdict.THROTTLED):
        judgement = measured.judgement
        known = judgement.reasons if judgement is not None else ()
        for reason in known or (UNKNOWN[measured.verdict],):
            yield measured.verdict.value, str(reason)
    if measured.launch_bound:
        yield (
            LAUNCH_BOUND,
            f"a pass takes {numbers.short_time(measured.work_ns.value)}, an empty kernel of its "
            f"shape {numbers.short_time(measured.work_floor_ns)}: this measures the dispatch, not "
            "the work; take a larger --size",
        )


# Warnings about times: what happened, the likely cause, the remedy.
#
# The form is that of hyperfine's warnings. They do not change a time: they qualify it.

# A smaller share of outliers is usual on any machine with other processes.
USUAL_OUTLIERS = 0.05
STEADY = 0.90
# Relative spread of a probe of fixed work from which the device counts as shared.
UNDISTURBED = 0.10
# Names of kernels in one line.
MOST_NAMES = 5


class Effect(str, Enum):
    """The consequences of warnings, as lines about several kernels; the most serious first."""

    LOAD = "Other load may have affected {0}: {1}."
    OPPOSITE = "By wall time the verdict of {0} is the opposite: {1}."
    TIMES = "Times of {0} vary; their ratios, which are of pairs, hold: {1}."
    REMOVED = "An effect of order or inputs was removed from the ratio of {0}: {1}."

    @property
    def noun(self) -> str:
        """The noun of the things that the line counts."""
        return "verdict" if self is Effect.LOAD else "kernel"


@dataclass(frozen=True, slots=True)
class TimeWarning:
    """One warning: `title` is the same for every kernel, `seen` has the kernel's figures."""

    title: str
    seen: str
    cause: str
    remedy: str
    effect: Effect = Effect.TIMES

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
    """Return a line for each effect of warnings. A kernel is in the line of its worst effect."""
    tasks: dict[Effect, dict[str, None]] = {each: {} for each in Effect}
    for result in results:
        found = list_warnings(result.measurement) if result.measurement is not None else []
        effects = {each.effect for each in found}
        worst = next((each for each in Effect if each in effects), None)
        if worst is not None:
            tasks[worst][result.case.task] = None
    return [
        effect.value.format(numbers.count(len(about), effect.noun), list_names(about))
        for effect, about in tasks.items()
        if about
    ]


def list_names(names: Iterable[str]) -> str:
    """Return ``relu, gelu, exp, log, abs and 18 more``."""
    every = list(names)
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return ", ".join(every[:MOST_NAMES]) + more


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
            "a clock that changes between two states, buffers at other addresses, or another "
            "program that runs at times",
            "the median is one of them or lies between them; look at the usual times, and for "
            "what changes",
        )


def _drift(drift: Drift | None) -> Iterator[TimeWarning]:
    if drift is not None and drift.is_significant and abs(drift.total) > MARGIN:
        yield TimeWarning(
            "Drift",
            f"{'+' if drift.total > 0 else '-'}{numbers.percent(abs(drift.total))} from the first "
            "window to the last",
            "a machine that warms up or cools down, or another program that came or went",
            "it affects the ratio of pairs little; for reliable times let the machine settle and "
            "run again",
        )


def _slow_start(times: NDArray[np.float64]) -> Iterator[TimeWarning]:
    odd = find_outliers(times)
    if odd[0] and times[0] > np.median(times) and not odd[1:].mean() > USUAL_OUTLIERS:
        yield TimeWarning(
            "Slow start",
            f"the first window took {numbers.factor(times[0] / np.median(times))} the median",
            "caches or clocks that were not yet warm",
            "one window does not change the median; run again if you need the mean of all",
        )


def _outliers(times: NDArray[np.float64]) -> Iterator[TimeWarning]:
    count = int(find_outliers(times).sum())
    if count > USUAL_OUTLIERS * times.size:
        yield TimeWarning(
            "Outliers",
            f"{count} of {numbers.count(times.size, 'window')}",
            "other programs or the system, which interrupted the kernel",
            "they stay in the data; close other programs and run again",
        )


def _warn_of_other_load(measured: Measurement) -> Iterator[TimeWarning]:
    """Yield the warning of the probe; with a separate device clock the probe is not needed."""
    spread = measured.steadiness.spread
    if measured.samples.own is None and spread is not None and spread > UNDISTURBED:
        yield TimeWarning(
            "Busy machine",
            f"work of a fixed length took {numbers.change(spread)} at times",
            "other programs on the same device, or a clock that changes",
            "pairs cancel most of it in the ratio, but not in times; close other programs and "
            "run again",
            Effect.LOAD,
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
            Effect.OPPOSITE,
        )


def _warn_of_removed_effects(judgement: Judgement | None) -> Iterator[TimeWarning]:
    """Yield warnings of effects that are removed from the ratio, but not from the times."""
    second = judgement.order_effect if judgement is not None else None
    levels = judgement.batch_spread if judgement is not None else None
    if second is not None and abs(second) >= MARGIN:
        longer = "longer" if second > 0 else "less"
        yield TimeWarning(
            "Order of the pair",
            f"what runs second takes {numbers.percent(abs(second))} {longer}",
            "caches, clocks or memory that the first leaves in another state for the second",
            "it is removed from the ratio; half of the windows of both sides have it",
            Effect.REMOVED,
        )
    if levels is not None and levels >= MARGIN:
        yield TimeWarning(
            "A level for each batch",
            f"the ratio differs by {numbers.percent(levels)} between batches, "
            "which have other inputs",
            "a kernel whose time depends on the values or the addresses of its inputs",
            "the ratio's interval counts batches, not their pairs: more of them come with --time",
            Effect.REMOVED,
        )


def _unsteady(stability: float) -> Iterator[TimeWarning]:
    if stability < STEADY:
        yield TimeWarning(
            "Unsteady times",
            f"the central 90 % spread by {100 * (1 - stability):.0f} % about the median",
            "a busy machine, or a kernel whose time depends on the addresses of its buffers",
            "close other programs and run again; more samples (--time) also narrow the interval",
        )


# Notes of a run. Those with the same title, the text before the first colon, are one kind.


def note_lines(results: Sequence[Result]) -> list[str]:
    """Return every note once, with its tasks."""
    tasks: dict[str, dict[str, None]] = {}
    for result in results:
        for note in result.notes:
            tasks.setdefault(note, {})[result.case.task] = None
    return [f"{_name_tasks(about, results)}: {note}." for note, about in tasks.items()]


def brief_note_lines(results: Sequence[Result]) -> list[str]:
    """Return a line for each kind of note, with its tasks; the whole note of a single task."""
    notes: dict[str, dict[str, None]] = {}
    tasks: dict[str, dict[str, None]] = {}
    for result in results:
        for note in result.notes:
            title = note.partition(": ")[0]
            notes.setdefault(title, {})[note] = None
            tasks.setdefault(title, {})[result.case.task] = None
    lines = []
    for title, about in tasks.items():
        whole = next(iter(notes[title])) if len(notes[title]) == 1 else title
        if len(about) == 1:
            whole = "; ".join(notes[title])
        lines.append(f"{_name_tasks(about, results)}: {whole}.")
    return lines


def _name_tasks(about: Iterable[str], results: Sequence[Result]) -> str:
    every, tasks = {result.case.task for result in results}, list(about)
    if len(tasks) == len(every) > 1:
        return "all kernels"
    if len(tasks) <= MOST_NAMES:
        return ", ".join(tasks)
    return f"{len(tasks)} kernels ({list_names(tasks)})"
