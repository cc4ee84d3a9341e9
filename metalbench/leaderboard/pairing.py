"""Compare two kernels in pairs, and confirm a win on other inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from metalbench.comparison.head_to_head import Contest, head_to_head
from metalbench.comparison.match import Match, MatchRunner, require_measurement, run_match
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


class Site(Attempts, MatchRunner, Protocol):
    """A place that runs trials and matches, such as `metalbench.isolation.Workers`."""


@dataclass(frozen=True)
class RemoteSite:
    """A site outside of this process, and its device."""

    site: Site
    device: DeviceFacts
    entry: Entry

    def head_to_head(
        self, contest: Contest, progress: Callable[[float], None] | None
    ) -> Measurement:
        """Verify and time both kernels at the site; raises as the function of that name."""
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
        outcome = run_match(self.site, self.device, match, _Fraction(progress))
        return require_measurement(match, outcome)

    def find_fault(self, contest: Contest) -> Failure | None:
        """Return the first failure of `before`, verified as by `metalbench run`, or None."""
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
    """An observer that passes on the completed fraction of a measurement."""

    def __init__(self, progress: Callable[[float], None] | None) -> None:
        self._progress = progress

    def stage_progress(self, fraction: float) -> None:
        """Report the fraction."""
        if self._progress is not None:
            self._progress(fraction)


@dataclass(frozen=True)
class Pairings:
    """Measurements of one kernel in pairs with another, each with separate seeds.

    There is a second one only if the first is FASTER.
    """

    measured: tuple[Measurement, ...]

    @property
    def verdict(self) -> Verdict:
        """FASTER if all are, else the last verdict."""
        verdict = self.measured[-1].verdict
        assert verdict is not None
        return verdict

    @property
    def is_confirmed(self) -> bool:
        """Whether the kernel was FASTER in both measurements."""
        return len(self.measured) == PAIRINGS and self.verdict is Verdict.FASTER

    @property
    def gains(self) -> tuple[Interval, ...]:
        """The time of the other kernel over this one's, of each measurement."""
        return tuple(each.ratio for each in self.measured if each.ratio is not None)


def pair(
    where: Device | RemoteSite, contest: Contest, progress: Callable[[float], None] | None = None
) -> Pairings:
    """Time `contest.after` in pairs with `contest.before`, and repeat it if the verdict is FASTER.

    Seeds follow that of the contest's plan, and inputs have the same distributions. Equal kernels
    pass by chance once in ten thousand times: each verdict uses a 98 % interval, of which one side
    counts. Noise of one side that lasts for all pairs increases that probability.

    Raises
    ------
    WrongKernelError
        If one of the two is wrong.
    """
    measured: list[Measurement] = []
    for seed in islice(like_seeds(contest.task, contest.plan.seed), PAIRINGS):
        plan = replace(contest.plan, seed=seed)
        part = _progress(progress, len(measured))
        measured.append(_measure_contest(where, replace(contest, plan=plan), part))
        if measured[-1].verdict is not Verdict.FASTER:
            break
    return Pairings(tuple(measured))


def _measure_contest(
    where: Device | RemoteSite, contest: Contest, progress: Callable[[float], None] | None
) -> Measurement:
    if isinstance(where, RemoteSite):
        return where.head_to_head(contest, progress)
    return head_to_head(where, contest, progress)[1]


def _progress(
    progress: Callable[[float], None] | None, done: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / PAIRINGS)
