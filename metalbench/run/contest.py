"""Which form of the reference is the one to beat: all are checked, and timed until that is clear.

A form that is picked though another one is faster is a gift to the kernel. So forms take turns in
random order, and those that may still be the fastest go on until the best is known to be no more
than 2 % slower than any of them, or the time is up.

References
----------
R. E. Bechhofer, Ann. Math. Statist. 25 (1954): selection of the best up to what does not matter.
E. Paulson, Ann. Math. Statist. 35 (1964): leaving out on the way what is clearly not the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench.measure import FormTime
from metalbench.reference import compiler
from metalbench.reference.chain import Reference
from metalbench.reference.forms import ON_ONE_ELEMENT, Form
from metalbench.stats import Interval, log_ratios, median_interval
from metalbench.stats.median import rank_interval
from metalbench.verify.error_rule import compare, derive_tolerance, measure_error_norms
from metalbench.verify.rounding_model import model_float32_errors

WINDOWS = 7  # of every form: the fewest that carry a 98 % interval
# Those that may be the fastest are looked at after so many, and after half as many more each time.
FIRST_LOOK = 10
GROWTH = 1.5
CLOSE = 0.02  # nearer forms are as good as each other
WINDOW_S = 1e-3
# Passes grow by what the last window lacked and a little more, but not by more than tenfold.
MORE, MOST_MORE = 1.1, 10.0
MOST_PASSES = 4096
# Of each form: one to see whether it is right, two to find the window, one to time it.
FEWEST_PASSES = 4
# So many times too long is a pass that was too long even if something slowed it down.
SURELY = 2
# A repetition of MLX's has work of its own to hide its launch behind, if that takes no larger part:
# about a fifth of it is on MLX's own thread, where nothing hides it.
LAUNCH_SHARE = 0.1
LAUNCHES = 256  # in a window
FAR_FROM_A_LAUNCH_S = 5e-3
# Beside other things; then it is further than `FAR_FROM_A_LAUNCH_S` alone, too.
SURELY_FAR_S = 10 * FAR_FROM_A_LAUNCH_S
THE_SAME = "not timed, for it is compiled to the operations of {}"
TOO_SLOW = "not timed, for the reference takes too long to be run in several forms"
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class FormChoice:
    """Every form of a reference with its time; `doubts` say what the times are not worth.

    That another form may be the fastest, that the one to beat is launched for longer than it works,
    or that MLX cannot compile. `decided` says that forms were timed and none of them may be the
    fastest but one.
    """

    forms: tuple[FormTime, ...]
    doubts: tuple[str, ...] = ()
    decided: bool = False


def choose_form(
    reference: Reference,
    *,
    seconds: float = 1.5,
    seed: int = 0,
    window_s: float = WINDOW_S,
    pass_s: float = 0.0,
    clock: Clock = perf_counter,
) -> FormChoice:
    """Time the forms until the fastest is known, for `seconds` at most; `reference` then runs it.

    Forms that differ from the eager one by more than a candidate might, or that do not run, are
    told with their fault; of a reference that takes too long only the eager form is there. Only
    those that the task's `against` names can be the one to beat. `seed` is of the order of turns,
    `window_s` the least length of one. `pass_s` is how long a pass of the eager form has taken
    before, with other things beside it; of one that is far too long there is no other to find it.
    """
    entrants = _entrants(reference, seconds, pass_s, clock)
    sound = [entrant for entrant in entrants if not entrant.fault]
    turns = _Turns(reference, seconds, seed, clock, window_s)
    best, doubt = sound[0], None
    if len(sound) > 1:
        best, doubt = _fastest(reference, sound, turns)
    elif pass_s <= SURELY_FAR_S and _time(reference, best.form, 1, clock) <= FAR_FROM_A_LAUNCH_S:
        turns.begin(sound)
        turns.take(sound, WINDOWS)
    doubts = (doubt, _launch_doubt(reference, best, clock), compiler.fault())
    reference.form = best.form
    return FormChoice(
        tuple(replace(each.result, compared=each is best) for each in entrants),
        tuple(each for each in doubts if each is not None),
        decided=len(sound) > 1 and doubt is None,
    )


def _entrants(reference: Reference, seconds: float, pass_s: float, clock: Clock) -> list[_Entrant]:
    """Every form, the first one's with no fault, the others' with what keeps them from a turn."""
    first, *others = reference.forms
    found = [_Entrant(first, "")]
    eager: list[np.ndarray[Any, Any]] = []
    start, spent = clock(), 0.0
    for form in others:
        if form.kind == "compiled" and _compiles_to_itself(reference, form):
            fault = THE_SAME.format(first.name)
        elif pass_s * FEWEST_PASSES > SURELY * seconds:
            fault = TOO_SLOW
        else:
            eager = eager or reference.outputs_of(first)
            # What the oracle and another library take to begin with is no form's time.
            spent = spent or clock() - start
            slow = spent * FEWEST_PASSES > seconds
            fault = TOO_SLOW if slow else _fault(reference, form, eager)
        found.append(_Entrant(form, fault))
    return found


def _compiles_to_itself(reference: Reference, compiled: Form) -> bool:
    """Whether MLX's compiler leaves every operation of the eager form as it is written."""
    try:
        written = reference.operations_of(reference.forms[0])
        return bool(written) and written == reference.operations_of(compiled)
    except Exception:  # the task's own code; what is wrong with it shows when it runs
        return False


def _fastest(
    reference: Reference, sound: list[_Entrant], turns: _Turns
) -> tuple[_Entrant, str | None]:
    """The fastest of those that the task allows, and what speaks against it."""
    turns.begin(sound)
    turns.take(sound, WINDOWS)
    against = reference.workload.task.against
    remaining = [entrant for entrant in sound if entrant.form.kind in against] or sound
    look = FIRST_LOOK
    while True:
        best = min(remaining, key=lambda entrant: entrant.median)
        behind = {each.form.name: each.against(best) for each in remaining if each is not best}
        close = [name for name, by in behind.items() if by.low <= -math.log1p(CLOSE)]
        if not close:
            return best, None
        if turns.out_of_time:
            return best, _doubt(best, {name: behind[name] for name in close})
        slower = [name for name, by in behind.items() if by.low > 0.0]
        remaining = [each for each in remaining if each.form.name not in slower]
        turns.take(remaining, look - len(best.times))
        look = math.ceil(GROWTH * look)


def _launch_doubt(reference: Reference, best: _Entrant, clock: Clock) -> str | None:
    """What is said of a reference that is through before the next one can be handed over."""
    if not best.times or best.median > FAR_FROM_A_LAUNCH_S:
        return None
    windows = [_time(reference, ON_ONE_ELEMENT, LAUNCHES, clock) for _ in range(WINDOWS)]
    launch = float(np.median(windows))
    share = min(1.0, launch / best.median)
    if share <= LAUNCH_SHARE:
        return None
    return (
        f"{ON_ONE_ELEMENT.name} takes MLX {1e6 * launch:.1f} us, and the whole reference "
        f"{1e6 * best.median:.1f} us: up to {share:.0%} of that is how MLX is called, not what it "
        "computes, and nothing is subtracted for it; a larger --size has more work"
    )


def _doubt(best: _Entrant, close: dict[str, Interval]) -> str:
    name, least = min(((name, by.low) for name, by in close.items()), key=lambda each: each[1])
    by = f"by up to {math.expm1(-least):.0%}" if math.isfinite(least) else "by an unknown amount"
    return (
        f"of the reference's forms {name} may be faster than {best.form.name}, which the ratio is "
        f"against, {by}: {len(best.times)} windows of each cannot tell; measure longer, or with "
        "less else running"
    )


@dataclass
class _Turns:
    """Forms that are timed one after the other, in random order, until time is up."""

    reference: Reference
    seconds: float
    seed: int
    clock: Clock
    window_s: float = WINDOW_S
    _deadline: float = 0.0
    _passes: int = 1

    def begin(self, entrants: Sequence[_Entrant]) -> None:
        """Warm up, find windows that are long enough, and start the clock."""
        self._passes = self._window(entrants)
        self._random = np.random.default_rng(self.seed)
        self._deadline = self.clock() + self.seconds

    def _window(self, entrants: Sequence[_Entrant]) -> int:
        """Equal passes for all, of which the fastest form's make a window; warms up on the way."""
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

    def take(self, entrants: Sequence[_Entrant], rounds: int) -> None:
        """Up to so many rounds, in each of which everyone has one turn."""
        for _ in range(rounds):
            for place in self._random.permutation(len(entrants)):
                entrant = entrants[place]
                taken = _time(self.reference, entrant.form, self._passes, self.clock)
                entrant.times.append(taken)
            if self.out_of_time:
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
        """Logarithm of the time as a multiple of the best's; both have had as many turns."""
        return rank_interval(log_ratios(np.array(self.times), np.array(best.times)))

    @property
    def result(self) -> FormTime:
        if not self.times:
            return FormTime(self.form.name, None, fault=self.fault)
        return FormTime(self.form.name, median_interval(1e9 * np.array(self.times)))


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
    except compiler.CompilerError as error:
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
