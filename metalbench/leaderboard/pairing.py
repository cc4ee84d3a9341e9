"""Two kernels in turn, and once more on other inputs before anything is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from metalbench.comparison.head_to_head import Contest, head_to_head
from metalbench.measure import Measurement
from metalbench.run.timed import like_seeds
from metalbench.stats import Interval, Verdict

if TYPE_CHECKING:
    from metalbench._core import Device

PAIRINGS = 2


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
    device: Device, contest: Contest, progress: Callable[[float], None] | None = None
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
        measured.append(head_to_head(device, replace(contest, plan=plan), part)[1])
        if measured[-1].verdict is not Verdict.FASTER:
            break
    return Pairings(tuple(measured))


def _progress(
    progress: Callable[[float], None] | None, done: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / PAIRINGS)
