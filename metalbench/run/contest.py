"""Which form of the reference is the one to beat: all are checked and briefly timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench.measure import FormTime
from metalbench.reference.chain import Reference
from metalbench.reference.forms import Form
from metalbench.stats import median_interval
from metalbench.verify.error_rule import allowance_for, compare, yardstick

WINDOWS = 7  # the fewest that carry a 98 % interval
WINDOW_S = 1e-3
MOST_PASSES = 4096
# Of each form: one to see whether it is right, two to find the window, one to time it.
FEWEST_PASSES = 4
TOO_SLOW = "not timed, for the reference takes too long to be run in several forms"
Clock = Callable[[], float]


def settle(
    reference: Reference, *, seconds: float = 0.5, clock: Clock = perf_counter
) -> tuple[FormTime, ...]:
    """Time every form for about `seconds` in all, and let `reference` run the fastest.

    Forms that differ from the eager one by more than a candidate might, or that do not run, are
    told with their fault; of a reference that takes too long only the eager form is there. Only
    those that the task's `against` names can be the one to beat.
    """
    start = clock()
    eager = reference.outputs_of(reference.forms[0])
    entrants = [_Entrant(reference.forms[0], "")]
    for form in reference.forms[1:]:
        slow = (clock() - start) * FEWEST_PASSES > seconds
        entrants.append(_Entrant(form, TOO_SLOW if slow else _fault(reference, form, eager)))
    sound = [entrant for entrant in entrants if not entrant.fault]
    if len(sound) == 1:
        reference.form = sound[0].form
        return tuple(replace(each.result, compared=each is sound[0]) for each in entrants)
    passes = _window(reference, sound, clock)
    deadline = clock() + seconds
    for _ in range(WINDOWS):
        for entrant in sound:
            entrant.times.append(_time(reference, entrant.form, passes, clock))
        if clock() > deadline:
            break
    against = reference.workload.task.against
    eligible = [entrant for entrant in sound if entrant.form.kind in against] or sound
    best = min(eligible, key=lambda entrant: entrant.median)
    reference.form = best.form
    return tuple(replace(each.result, compared=each is best) for each in entrants)


@dataclass
class _Entrant:
    form: Form
    fault: str
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    @property
    def result(self) -> FormTime:
        if not self.times:
            return FormTime(self.form.name, None, fault=self.fault)
        return FormTime(self.form.name, median_interval(1e9 * np.array(self.times)))


def _window(reference: Reference, entrants: list[_Entrant], clock: Clock) -> int:
    """Equal passes for all, of which the fastest form's make a window; warms up on the way."""
    passes = 1
    while passes < MOST_PASSES:
        fastest = min(_time(reference, each.form, passes, clock) for each in entrants)
        if fastest * passes >= WINDOW_S:
            break
        passes *= 2
    return passes


def _time(reference: Reference, form: Form, passes: int, clock: Clock) -> float:
    """Seconds of one pass."""
    reference.form = form
    start = clock()
    reference(passes)
    return (clock() - start) / passes


def _fault(reference: Reference, form: Form, eager: list[np.ndarray[Any, Any]]) -> str:
    """What is wrong with a form beside what the eager one makes; empty if nothing is."""
    try:
        got = reference.outputs_of(form)
    except Exception as error:  # a compiler that is missing, or the task's own code
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    work = reference.workload
    for (name, expected), mine, theirs in zip(work.expected.items(), got, eager, strict=True):
        if mine.tobytes() == theirs.tobytes():
            continue
        kind = work.task.outputs[name].type_in(work.dtype)
        scale = work.scale[name] if kind.is_float else expected
        allowance = allowance_for(expected, yardstick(expected, theirs, scale), kind)
        if not compare(name, mine, expected, allowance=allowance, scale=scale).passed:
            return f"{name} differs from the eager form's by more than rounding"
    return ""
