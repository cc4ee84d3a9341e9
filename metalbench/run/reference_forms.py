"""Choose the fastest form of the reference: check all forms, and time them in a contest.

A slower form would make the kernel look faster. So forms run alternately in random order. Forms
that may still be the fastest continue until the best is known to be at most 2 % slower than any of
them, or the time is up.

References
----------
R. E. Bechhofer, Ann. Math. Statist. 25 (1954): selection of the best with an indifference zone.
E. Paulson, Ann. Math. Statist. 35 (1964): sequential elimination of inferior ones.
"""

from __future__ import annotations

import importlib.metadata
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench import build_cache
from metalbench.measure.measurement import FormTime
from metalbench.reference import evaluate
from metalbench.reference.chain import ON_ONE_ELEMENT, Form, Reference
from metalbench.reference.stored_forms import identify_compiler
from metalbench.stats import Interval, log_ratios, median_interval
from metalbench.stats.location import rank_interval
from metalbench.verify.tolerance import (
    compare,
    derive_tolerance,
    measure_error_norms,
    model_float32_errors,
)

# Windows of every form: the fewest with a 98 % interval. They may take this multiple of the time.
WINDOWS = 7
OVERRUN = 2
# Windows before the first analysis; each later analysis has half as many windows more.
FIRST_ANALYSIS = 10
GROWTH = 1.5
CLOSE = 0.02  # indifference zone
WINDOW_S = 1e-3
# Passes grow by the factor that the last window lacked and a little more, at most tenfold.
MORE, MOST_MORE = 1.1, 10.0
MOST_PASSES = 4096
# Passes of each form: one to check its results, two to find the window, one to time it.
FEWEST_PASSES = 4
# A pass that exceeds a limit by this factor exceeds it even if other work slowed it down.
SURELY = 2
# If a launch takes at most this part of a repetition, it overlaps with the work of the one before.
# About a fifth of a launch is on MLX's thread and never overlaps.
LAUNCH_SHARE = 0.1
LAUNCHES = 256  # in a window
FAR_FROM_A_LAUNCH_S = 5e-3
# The same for a pass that was timed while other work ran.
SURELY_FAR_S = 10 * FAR_FROM_A_LAUNCH_S
THE_SAME = "not timed, for it is compiled to the operations of {}"
TOO_SLOW = "not timed, for the reference takes too long to be run in several forms"
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class FormChoice:
    """Every form of a reference with its time, and the form that was chosen.

    `doubts` are warnings: another form may be faster, the launch of the chosen form takes longer
    than its work, or MLX cannot compile. `decided` says that the contest has one winner.
    """

    forms: tuple[FormTime, ...]
    doubts: tuple[str, ...] = ()
    decided: bool = False


def choose_form(
    reference: Reference,
    *,
    seconds: float = 0.75,
    seed: int = 0,
    window_s: float = WINDOW_S,
    pass_s: float = 0.0,
    clock: Clock = perf_counter,
) -> FormChoice:
    """Time the forms until the fastest is known, for at most `seconds`; `reference` then runs it.

    A form has a fault if it does not run, or if it differs from the eager form by more than the
    tolerance of a kernel. If the reference is too slow, only the eager form is timed. Only forms
    that the task's `against` names can be chosen.

    Parameters
    ----------
    seconds
        Time limit.
    seed
        Seed of the order of the forms.
    window_s
        Least time of a window.
    pass_s
        Time of an earlier pass of the eager form, which other work may have slowed down. A pass
        that is far too long is not repeated.
    """
    entrants = _list_entrants(reference, seconds, pass_s, clock)
    sound = [entrant for entrant in entrants if not entrant.fault]
    timer = _FormTimer(reference, seconds, seed, clock, window_s)
    best, doubt = sound[0], None
    if len(sound) > 1:
        best, doubt = _find_fastest(reference, sound, timer)
    elif pass_s <= SURELY_FAR_S and _time(reference, best.form, 1, clock) <= FAR_FROM_A_LAUNCH_S:
        timer.start(sound)
        timer.run_rounds(sound, WINDOWS)
    doubts = (doubt, _warn_of_launches(reference, best, clock), evaluate.compiler_fault())
    reference.form = best.form
    return FormChoice(
        tuple(replace(each.result, compared=each is best) for each in entrants),
        tuple(each for each in doubts if each is not None),
        decided=len(sound) > 1 and doubt is None,
    )


def _list_entrants(
    reference: Reference, seconds: float, pass_s: float, clock: Clock
) -> list[_Entrant]:
    """Return every form; each but the first with its fault, if it has one."""
    first, *others = reference.forms
    found = [_Entrant(first, "")]
    eager: list[np.ndarray[Any, Any]] = []
    start, spent = clock(), 0.0
    for form in others:
        if form.kind == "compiled" and _is_unchanged_by_compiler(reference, form):
            fault = THE_SAME.format(first.name)
        elif pass_s * FEWEST_PASSES > SURELY * seconds:
            fault = TOO_SLOW
        else:
            eager = eager or reference.outputs_of(first)
            # The start-up of the oracle and of another library does not count as a form's time.
            spent = spent or clock() - start
            slow = spent * FEWEST_PASSES > seconds
            fault = TOO_SLOW if slow else _find_fault(reference, form, eager)
        found.append(_Entrant(form, fault))
    return found


def _is_unchanged_by_compiler(reference: Reference, compiled: Form) -> bool:
    """Return whether MLX's compiler changes no operation of the eager form."""
    try:
        written = reference.operations_of(reference.forms[0])
        return bool(written) and written == reference.operations_of(compiled)
    except Exception:  # the task's code; its faults show when it runs
        return False


def _find_fastest(
    reference: Reference, sound: list[_Entrant], timer: _FormTimer
) -> tuple[_Entrant, str | None]:
    """Return the fastest of the forms that the task allows, and a warning if it is uncertain."""
    timer.start(sound)
    timer.run_rounds(sound, WINDOWS)
    against = reference.workload.task.against
    remaining = [entrant for entrant in sound if entrant.form.kind in against] or sound
    planned = FIRST_ANALYSIS
    while True:
        best = min(remaining, key=lambda entrant: entrant.median)
        behind = {each.form.name: each.against(best) for each in remaining if each is not best}
        close = [name for name, by in behind.items() if by.low <= -math.log1p(CLOSE)]
        if not close:
            return best, None
        if timer.out_of_time:
            return best, _warn_of_close_forms(best, {name: behind[name] for name in close})
        slower = [name for name, by in behind.items() if by.low > 0.0]
        remaining = [each for each in remaining if each.form.name not in slower]
        timer.run_rounds(remaining, planned - len(best.times))
        planned = math.ceil(GROWTH * planned)


def _warn_of_launches(reference: Reference, best: _Entrant, clock: Clock) -> str | None:
    """Return a warning if launches of the reference take longer than its work."""
    if best.form.apart or not best.times or best.median > FAR_FROM_A_LAUNCH_S:
        return None
    windows = [_time(reference, ON_ONE_ELEMENT, LAUNCHES, clock) for _ in range(WINDOWS)]
    launch = float(np.median(windows))
    share = min(1.0, launch / best.median)
    if share <= LAUNCH_SHARE:
        return None
    return (
        f"MLX's call overhead is more than {LAUNCH_SHARE:.0%} of the reference: "
        f"{ON_ONE_ELEMENT.name} takes MLX {1e6 * launch:.1f} us, and the whole reference "
        f"{1e6 * best.median:.1f} us (up to {share:.0%}); nothing is subtracted for it, and a "
        "larger --size has more work"
    )


def _warn_of_close_forms(best: _Entrant, close: dict[str, Interval]) -> str:
    name, least = min(((name, by.low) for name, by in close.items()), key=lambda each: each[1])
    by = f"by up to {math.expm1(-least):.0%}" if math.isfinite(least) else "by an unknown amount"
    return (
        f"another form of the reference may be faster: {name} than {best.form.name}, which the "
        f"ratio is against, {by}; {len(best.times)} windows of each cannot tell; measure longer, "
        "or with less else running"
    )


@dataclass
class _FormTimer:
    """Times forms alternately, in random order, until the time is up."""

    reference: Reference
    seconds: float
    seed: int
    clock: Clock
    window_s: float = WINDOW_S
    _deadline: float = 0.0
    _passes: int = 1

    def start(self, entrants: Sequence[_Entrant]) -> None:
        """Warm up, find windows that are long enough, and start the clock."""
        self._passes = self._find_window(entrants)
        self._random = np.random.default_rng(self.seed)
        self._deadline = self.clock() + self.seconds

    def _find_window(self, entrants: Sequence[_Entrant]) -> int:
        """Return the passes with which the fastest form fills a window; this warms up all forms."""
        passes = 1
        while passes < MOST_PASSES:
            times = [_time(self.reference, each.form, passes, self.clock) for each in entrants]
            fastest_s = min(times) * passes
            if fastest_s >= self.window_s:
                break
            lacking = MORE * self.window_s / fastest_s
            passes = math.ceil(passes * min(max(lacking, MORE), MOST_MORE))
        return passes

    @property
    def out_of_time(self) -> bool:
        return self.clock() > self._deadline

    def run_rounds(self, entrants: Sequence[_Entrant], rounds: int) -> None:
        """Time at most `rounds` windows of each form."""
        last = self._deadline + (OVERRUN - 1) * self.seconds
        for _ in range(rounds):
            for place in self._random.permutation(len(entrants)):
                entrant = entrants[place]
                taken = _time(self.reference, entrant.form, self._passes, self.clock)
                entrant.times.append(taken)
            fewest = min(len(each.times) for each in entrants)
            if self.clock() > (last if fewest < WINDOWS else self._deadline):
                break


@dataclass
class _Entrant:
    form: Form
    fault: str
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    def against(self, best: _Entrant) -> Interval:
        """Return the interval of the logarithm of the time relative to the best form's."""
        return rank_interval(log_ratios(np.array(self.times), np.array(best.times)))

    @property
    def result(self) -> FormTime:
        if not self.times:
            return FormTime(self.form.name, None, fault=self.fault)
        return FormTime(self.form.name, median_interval(1e9 * np.array(self.times)))


def _time(reference: Reference, form: Form, passes: int, clock: Clock) -> float:
    """Return the time in s of one pass."""
    reference.form = form
    start = clock()
    reference(passes)
    return (clock() - start) / passes


def _find_fault(reference: Reference, form: Form, eager: list[np.ndarray[Any, Any]]) -> str:
    """Compare a form with the eager one; return its fault, empty if it has none."""
    try:
        got = reference.outputs_of(form)
    except evaluate.CompilerError as error:
        return str(error)
    except Exception as error:  # the task's own code
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    work = reference.workload
    for (name, expected), mine, theirs in zip(work.expected.items(), got, eager, strict=True):
        if mine.tobytes() == theirs.tobytes():
            continue
        kind = work.task.outputs[name].type_in(work.dtype)
        scale = work.scale[name] if kind.is_float else expected
        measured = measure_error_norms(expected, theirs, scale)
        tolerance = derive_tolerance(expected, measured, kind)
        if compare(name, mine, expected, tolerance=tolerance, scale=scale).passed:
            continue
        tolerance = derive_tolerance(
            expected, model_float32_errors(work, {name: measured})[name], kind
        )
        if not compare(name, mine, expected, tolerance=tolerance, scale=scale).passed:
            return f"{name} differs from the eager form's by more than rounding"
    return ""


# Store the choice of a reference's form for a week, in the build cache.
#
# A contest takes about as long as timing a kernel. Its outcome is the same for the same MLX,
# machine and operations.

LASTS_S = 7 * 86_400
# Another name for each change of what a record has, including the texts of doubts.
RECORD = "form 2"
NOT_TIMED_AGAIN = "not timed again: it was {:.2f}x as slow in a contest of {}"


def load_choice(
    reference: Reference, device: str, mode: str, *, now: Callable[[], float] = time.time
) -> FormChoice | None:
    """Load the choice of an earlier contest, None if there is none; `reference` then runs it.

    `device` is the name of the device, `mode` that of the `Mode`.
    """
    key = _key(reference, device, mode)
    record = None if key is None else build_cache.load(key)
    if record is None or not 0 <= now() - record["at"] < LASTS_S:
        return None
    day = time.strftime("%Y-%m-%d", time.gmtime(record["at"]))
    best = next(form for form in reference.forms if form.name == record["best"])
    reference.form = best
    return FormChoice(
        tuple(
            FormTime(
                name,
                None,
                compared=name == best.name,
                fault=fault if slower is None else NOT_TIMED_AGAIN.format(slower, day),
            )
            for name, slower, fault in record["forms"]
        ),
        tuple(record["doubts"]),
        decided=True,
    )


def store_choice(
    choice: FormChoice,
    reference: Reference,
    device: str,
    mode: str,
    *,
    now: Callable[[], float] = time.time,
) -> None:
    """Store a choice, if the contest was decided."""
    key = _key(reference, device, mode)
    best = next((form for form in choice.forms if form.compared), None)
    if key is None or not choice.decided or best is None or best.time_ns is None:
        return
    forms = [(form.name, _slower(form, best.time_ns), form.fault) for form in choice.forms]
    record = {"at": now(), "best": best.name, "forms": forms, "doubts": choice.doubts}
    build_cache.store(key, record)


def _slower(form: FormTime, best: Interval) -> float | None:
    """Return how many times slower a form is; None for the chosen one and forms without a time."""
    if form.compared or form.time_ns is None:
        return None
    return form.time_ns.value / best.value


def _key(reference: Reference, device: str, mode: str) -> str | None:
    """Return a key of everything that decides which form is the fastest; None if it is unknown.

    The operations of a form are the names in MLX's drawing of its graph, in order.
    """
    work = reference.workload
    try:
        operations = [reference.operations_of(form) for form in reference.forms]
    except Exception:  # the task's code; its faults show when it runs
        return None
    return build_cache.digest(
        RECORD,
        importlib.metadata.version("mlx"),
        identify_compiler(),
        device,
        repr((os.cpu_count(), mode)),
        work.task.name,
        repr(work.task.against),
        repr(sorted(work.task.constants.items())),
        repr([(name, each.shape, str(each.dtype)) for name, each in work.inputs.items()]),
        repr([(form.kind, form.name) for form in reference.forms]),
        repr(operations),
    )
