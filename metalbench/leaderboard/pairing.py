"""Two kernels in turn, and once more on other inputs before anything is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from metalbench.comparison.head_to_head import Contest, head_to_head
from metalbench.comparison.match import Match, Players, measurement_of, outcome_of
from metalbench.measure import Measurement
from metalbench.run.runner import Attempts
from metalbench.run.stages import Silent
from metalbench.run.trial import Trial
from metalbench.run.turns import like_seeds
from metalbench.stats import Interval, Verdict

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.library import Entry
    from metalbench.result import DeviceFacts, Failure

PAIRINGS = 2


class Site(Attempts, Players, Protocol):
    """Where kernels are tried, and run in pairs: `metalbench.isolation.Workers`, say."""


@dataclass(frozen=True)
class Apart:
    """A site that is not this process, and the device there."""

    site: Site
    device: DeviceFacts
    entry: Entry

    def head_to_head(
        self, contest: Contest, progress: Callable[[float], None] | None
    ) -> Measurement:
        """Verify and time both kernels there; raises as the function of that name."""
        match = Match(
            self.entry,
            contest.before,
            contest.after,
            contest.names,
            dtype=contest.dtype,
            size=contest.size,
            plan=contest.plan,
            tunables=contest.tunables,
            knows_before=contest.knows_before,
            also_sizes=contest.also_sizes,
            thorough=False,
        )
        outcome = outcome_of(self.site, self.device, match, _Fraction(progress))
        return measurement_of(match, outcome)

    def fault(self, contest: Contest) -> Failure | None:
        """What is wrong with `before`, verified as `metalbench run` does; None if nothing is."""
        trial = Trial(
            self.entry,
            contest.before,
            contest.dtype,
            contest.size,
            seed=contest.plan.seed,
            tunables=contest.tunables[0],
            timed=False,
        )
        failures = self.site.attempt(self.device, trial, (), Silent()).failures
        return failures[0] if failures else None


class _Fraction(Silent):
    """Passes on how much of a measurement is done."""

    def __init__(self, progress: Callable[[float], None] | None) -> None:
        self._progress = progress

    def stage_progress(self, fraction: float) -> None:
        """Tell it."""
        if self._progress is not None:
            self._progress(fraction)


@dataclass(frozen=True)
class Pairings:
    """Measurements of one kernel in pairs with another, each with seeds of its own.

    There is a second one only if the first says FASTER.
    """

    measured: tuple[Measurement, ...]

    @property
    def verdict(self) -> Verdict:
        """FASTER if all say so; else the last word, which is the one that does not."""
        verdict = self.measured[-1].verdict
        assert verdict is not None
        return verdict

    @property
    def confirmed(self) -> bool:
        """Whether the kernel was FASTER, and FASTER once more."""
        return len(self.measured) == PAIRINGS and self.verdict is Verdict.FASTER

    @property
    def gains(self) -> tuple[Interval, ...]:
        """Of each the time of the other kernel over this one's."""
        return tuple(each.ratio for each in self.measured if each.ratio is not None)


def pair(
    where: Device | Apart, contest: Contest, progress: Callable[[float], None] | None = None
) -> Pairings:
    """Time `contest.after` in pairs with `contest.before`, and if it is FASTER once more.

    Seeds follow that of the contest's plan, and inputs are drawn from the same distributions. By
    chance alone equal kernels pass once in ten thousand times: each verdict is of a 98 % interval,
    of which one side counts. A noise of one side that lasts as long as all pairs makes that more.

    Raises
    ------
    WrongKernelError
        If one of the two is wrong.
    """
    measured: list[Measurement] = []
    for seed in islice(like_seeds(contest.task, contest.plan.seed), PAIRINGS):
        plan = replace(contest.plan, seed=seed)
        part = _progress(progress, len(measured))
        measured.append(_measured(where, replace(contest, plan=plan), part))
        if measured[-1].verdict is not Verdict.FASTER:
            break
    return Pairings(tuple(measured))


def _measured(
    where: Device | Apart, contest: Contest, progress: Callable[[float], None] | None
) -> Measurement:
    if isinstance(where, Apart):
        return where.head_to_head(contest, progress)
    return head_to_head(where, contest, progress)[1]


def _progress(
    progress: Callable[[float], None] | None, done: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / PAIRINGS)
