"""A candidate against its reference, by every method, with the reasons for silence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.blocks import BlockRange
from metalbench.stats.crosscheck import CrossCheck
from metalbench.stats.discovery import FALSE_DISCOVERY_RATE, surviving_verdicts
from metalbench.stats.drift import Drift
from metalbench.stats.interval import Interval
from metalbench.stats.location import Blocks, Ranks
from metalbench.stats.modes import Mode
from metalbench.stats.paired import Paired
from metalbench.stats.reasons import (
    Cause,
    Reason,
    contradicted,
    drifts,
    has_modes,
    one_of,
    scattered,
    undecided,
)
from metalbench.stats.verdict import MARGIN, Verdict, judge

# What speaks against a verdict, whatever its interval and p-value say.
BESIDE_INTERVAL = frozenset((Cause.DRIFT, Cause.MODES, Cause.CROSS_CHECK, Cause.SCATTERED))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What can be said of a ratio (above 1 the candidate is faster).

    `reasons` is empty unless the verdict is INCONCLUSIVE. `drift`, `modes` (of the ratio) and
    `cross_check` are there whether or not they matter to the verdict; None where there are too few
    independent pairs for them. `blocks` has the lowest and the highest block of pairs where those
    decided, because pairs are few or much alike. `second` is the relative time that being
    second in a pair costs, `levels` the relative standard deviation between looks, each None
    if chance explains it; both were taken out of the ratio, and what is not known of them is in its
    interval.
    """

    verdict: Verdict
    ratio: Interval
    reasons: tuple[Reason, ...]
    p_value: float
    effective_pairs: float
    drift: Drift | None
    modes: tuple[Mode, ...]
    cross_check: CrossCheck | None
    blocks: BlockRange | None = None
    second: float | None = None
    levels: float | None = None

    @property
    def by_interval(self) -> bool:
        """Whether the ratio's interval decided alone, so that its p-value is one of a suite's."""
        return all(reason.cause not in BESIDE_INTERVAL for reason in self.reasons)


def assess(
    reference: NDArray[np.float64],
    candidate: NDArray[np.float64],
    margin: float = MARGIN,
    *,
    candidate_first: NDArray[np.bool_] | None = None,
    look: NDArray[np.int_] | None = None,
) -> Judgement:
    """Judge pairs of times by their ratio's interval, and by what could overturn it.

    What being second in a pair costs is taken out of the times first. Looks of different levels are
    judged by the looks' medians, one value each. A drift of the ratio, or several modes of it, make
    a verdict INCONCLUSIVE if some part of the run would have another; so does a cross-check that
    disagrees, or one block of few pairs.

    Parameters
    ----------
    reference, candidate
        Shape (n,) each, n >= 1, positive, in the same unit; entry i of both is pair i.
    margin
        Differences below this are of no use to anybody.
    candidate_first
        Shape (n,): whether the candidate was the first of its pair.
    look
        Shape (n,): the number of the look that each pair is of, never falling.

    Raises
    ------
    ValueError
        If the lengths differ, there is no pair, or a time is not positive.
    """
    pairs = Paired.of(reference, candidate, candidate_first, look)
    edges = math.log1p(-margin), math.log1p(margin)
    location = pairs.location
    ratio = location.interval().map(math.exp)
    alone = judge(ratio, margin)
    trend, parts, check = pairs.drift(), pairs.modes(), pairs.cross_check()
    blocks = _range_of(location)
    reasons = [undecided(ratio, margin)] if alone is Verdict.INCONCLUSIVE else []
    if not reasons and blocks is not None and location.scattered(*edges):
        reasons.append(scattered(blocks, margin))
    reasons += _overturned(alone, ratio, margin, trend=trend, parts=parts, check=check)
    return Judgement(
        verdict=Verdict.INCONCLUSIVE if reasons else alone,
        ratio=ratio,
        reasons=tuple(reasons),
        p_value=location.p_value(*edges),
        effective_pairs=effective_count(pairs.logarithms),
        drift=trend,
        modes=parts,
        cross_check=check,
        blocks=blocks,
        second=math.expm1(pairs.order.second) if pairs.order else None,
        levels=math.expm1(pairs.levels.spread) if pairs.levels else None,
    )


def _overturned(
    verdict: Verdict,
    ratio: Interval,
    margin: float,
    *,
    trend: Drift | None,
    parts: tuple[Mode, ...],
    check: CrossCheck | None,
) -> Iterator[Reason]:
    """What speaks against a verdict that the interval has."""
    if trend is not None and _turned_by_drift(verdict, ratio, trend, margin):
        yield drifts(ratio, trend)
    if _turned_by_modes(verdict, parts, margin):
        yield has_modes(parts)
    if check is not None and check.disagrees(verdict, margin):
        yield contradicted(verdict, check)


def assess_suite(
    judgements: list[Judgement], rate: float = FALSE_DISCOVERY_RATE
) -> list[Judgement]:
    """A suite's judgements, of which the differences that many tries explain say nothing more.

    Those that something other than their interval kept from a verdict are no tries.
    """
    tries = [judgement for judgement in judgements if judgement.by_interval]
    verdicts = surviving_verdicts(
        [judgement.verdict for judgement in tries],
        [judgement.p_value for judgement in tries],
        rate,
    )
    together = iter(verdicts)
    return [
        _as_one_of(judgement, next(together), len(tries), rate)
        if judgement.by_interval
        else judgement
        for judgement in judgements
    ]


def _as_one_of(judgement: Judgement, verdict: Verdict, tries: int, rate: float) -> Judgement:
    if verdict is judgement.verdict:
        return judgement
    reason = one_of(tries, judgement.verdict, judgement.p_value, rate)
    return replace(judgement, verdict=verdict, reasons=(reason,))


def _range_of(location: Ranks | Blocks) -> BlockRange | None:
    """The range of blocks that were cut from few pairs, as ratios; None of anything else."""
    if not isinstance(location, Blocks) or location.looks:
        return None
    found = BlockRange.of(location.value, location.medians).map(math.exp)
    return BlockRange(found.value, found.low, found.high)


def _turned_by_drift(verdict: Verdict, ratio: Interval, trend: Drift, margin: float) -> bool:
    if not trend.significant:
        return False
    half = math.sqrt(1.0 + trend.total)
    return any(_alone(ratio.value * end, margin) is not verdict for end in (half, 1.0 / half))


def _turned_by_modes(verdict: Verdict, parts: tuple[Mode, ...], margin: float) -> bool:
    return len(parts) > 1 and any(
        _alone(math.exp(part.value), margin) is not verdict for part in parts
    )


def _alone(ratio: float, margin: float) -> Verdict:
    """Verdict of a ratio that is known exactly."""
    return judge(Interval(ratio, ratio, ratio), margin)
