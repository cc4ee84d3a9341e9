"""Judge a candidate against its reference by several methods, with reasons if inconclusive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_sample_size
from metalbench.stats.blocks import BlockRange
from metalbench.stats.crosscheck import CrossCheck
from metalbench.stats.discovery import FALSE_DISCOVERY_RATE, control_false_discoveries
from metalbench.stats.drift import Drift
from metalbench.stats.interval import Interval
from metalbench.stats.location import BlockLocation, RankLocation
from metalbench.stats.modes import DistributionMode
from metalbench.stats.paired import PairedTimes
from metalbench.stats.reasons import (
    Cause,
    Reason,
    explain_cross_check,
    explain_discovery,
    explain_drift,
    explain_interval,
    explain_modes,
    explain_scatter,
)
from metalbench.stats.verdict import MARGIN, Verdict, judge

# Causes that overrule a verdict regardless of its interval and p-value.
OVERRIDING_CAUSES = frozenset((Cause.DRIFT, Cause.MODES, Cause.CROSS_CHECK, Cause.SCATTERED))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of a ratio (above 1 the candidate is faster), with its evidence.

    `reasons` is empty unless the verdict is INCONCLUSIVE. `drift`, `modes` (of the ratio) and
    `cross_check` are set whether or not they change the verdict; None or empty if there are too few
    independent pairs. `blocks` is the range of block medians if blocks decided, because pairs are
    few or correlated. `order_effect` is the relative cost of being second in a pair, `batch_spread`
    the relative standard deviation between batches; each is None if it is not significant. Both are
    removed from the ratio, and their uncertainty widens its interval.
    """

    verdict: Verdict
    ratio: Interval
    reasons: tuple[Reason, ...]
    p_value: float
    effective_pairs: float
    drift: Drift | None
    modes: tuple[DistributionMode, ...]
    cross_check: CrossCheck | None
    blocks: BlockRange | None = None
    order_effect: float | None = None
    batch_spread: float | None = None

    @property
    def is_decided_by_interval(self) -> bool:
        """Whether the ratio's interval alone decided, so that its p-value counts in a suite."""
        return all(reason.cause not in OVERRIDING_CAUSES for reason in self.reasons)


def assess(
    reference: NDArray[np.float64],
    candidate: NDArray[np.float64],
    margin: float = MARGIN,
    *,
    candidate_first: NDArray[np.bool_] | None = None,
    batch: NDArray[np.int_] | None = None,
) -> Judgement:
    """Judge pairs of times by the interval of their ratio, and by tests that can overrule it.

    A significant order effect is removed from the times first. If batches differ significantly,
    their medians are judged instead of pairs, one value a batch. The verdict becomes INCONCLUSIVE
    if the ratio drifts or has several modes and some part of the run would have another verdict, if
    the cross-check disagrees, or if one block of few pairs lies near the margin.

    Parameters
    ----------
    reference, candidate
        Shape (n,) each, n >= 1, positive, in the same unit; entry i of both is pair i.
    margin
        Relative difference below which two times count as equal.
    candidate_first
        Shape (n,): whether the candidate ran first in its pair.
    batch
        Shape (n,): the number of each pair's batch, non-decreasing.

    Raises
    ------
    ValueError
        If the lengths differ, the arrays are empty, or a time is not positive.
    """
    pairs = PairedTimes.of(reference, candidate, candidate_first, batch)
    edges = math.log1p(-margin), math.log1p(margin)
    location = pairs.location
    ratio = location.interval().map(math.exp)
    alone = judge(ratio, margin)
    trend, parts, check = pairs.drift(), pairs.modes(), pairs.cross_check()
    blocks = _block_range_of_ratio(location)
    reasons = [explain_interval(ratio, margin)] if alone is Verdict.INCONCLUSIVE else []
    if not reasons and blocks is not None and location.has_scattered_blocks(*edges):
        reasons.append(explain_scatter(blocks, margin))
    reasons += _list_objections(alone, ratio, margin, trend=trend, parts=parts, check=check)
    return Judgement(
        verdict=Verdict.INCONCLUSIVE if reasons else alone,
        ratio=ratio,
        reasons=tuple(reasons),
        p_value=location.p_value(*edges),
        effective_pairs=effective_sample_size(pairs.logarithms),
        drift=trend,
        modes=parts,
        cross_check=check,
        blocks=blocks,
        order_effect=math.expm1(pairs.order.second) if pairs.order else None,
        batch_spread=math.expm1(pairs.levels.spread) if pairs.levels else None,
    )


def _list_objections(
    verdict: Verdict,
    ratio: Interval,
    margin: float,
    *,
    trend: Drift | None,
    parts: tuple[DistributionMode, ...],
    check: CrossCheck | None,
) -> Iterator[Reason]:
    """Yield the reasons that overrule a verdict of the interval."""
    if trend is not None and _is_changed_by_drift(verdict, ratio, trend, margin):
        yield explain_drift(ratio, trend)
    if _is_changed_by_modes(verdict, parts, margin):
        yield explain_modes(parts)
    if check is not None and check.disagrees(verdict, margin):
        yield explain_cross_check(verdict, check)


def assess_suite(
    judgements: list[Judgement], rate: float = FALSE_DISCOVERY_RATE
) -> list[Judgement]:
    """Return a suite's judgements with its false discovery rate controlled.

    A FASTER or SLOWER that is not significant among all becomes INCONCLUSIVE. Judgements that
    something other than the interval decided do not count as tests.
    """
    tests = [judgement for judgement in judgements if judgement.is_decided_by_interval]
    verdicts = control_false_discoveries(
        [judgement.verdict for judgement in tests],
        [judgement.p_value for judgement in tests],
        rate,
    )
    together = iter(verdicts)
    return [
        _replace_verdict(judgement, next(together), len(tests), rate)
        if judgement.is_decided_by_interval
        else judgement
        for judgement in judgements
    ]


def _replace_verdict(judgement: Judgement, verdict: Verdict, tests: int, rate: float) -> Judgement:
    if verdict is judgement.verdict:
        return judgement
    reason = explain_discovery(tests, judgement.verdict, judgement.p_value, rate)
    return replace(judgement, verdict=verdict, reasons=(reason,))


def _block_range_of_ratio(location: RankLocation | BlockLocation) -> BlockRange | None:
    """Return the range of blocks of few pairs, as ratios; None for any other method."""
    if not isinstance(location, BlockLocation) or location.by_batch:
        return None
    found = BlockRange.of(location.value, location.medians).map(math.exp)
    return BlockRange(found.value, found.low, found.high)


def _is_changed_by_drift(verdict: Verdict, ratio: Interval, trend: Drift, margin: float) -> bool:
    if not trend.is_significant:
        return False
    half = math.sqrt(1.0 + trend.total)
    return any(_judge_exact(ratio.value * end, margin) is not verdict for end in (half, 1.0 / half))


def _is_changed_by_modes(
    verdict: Verdict, parts: tuple[DistributionMode, ...], margin: float
) -> bool:
    return len(parts) > 1 and any(
        _judge_exact(math.exp(part.value), margin) is not verdict for part in parts
    )


def _judge_exact(ratio: float, margin: float) -> Verdict:
    """Return the verdict of a ratio that is known exactly."""
    return judge(Interval(ratio, ratio, ratio), margin)
