"""Assess a ratio: its verdict and, if inconclusive, the reasons with remedies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import MARGIN, Interval, Verdict, judge
from metalbench.stats.location import BlockLocation, RankLocation
from metalbench.stats.pairs import CrossCheck, PairedTimes
from metalbench.stats.series import BlockRange, DistributionMode, Drift, effective_sample_size
from metalbench.stats.suites import FALSE_DISCOVERY_RATE, control_false_discoveries

# A longer measurement than by this factor is not suggested.
LONGEST = 100


class Cause(str, Enum):
    """The kind of reason for an inconclusive verdict."""

    FEW = "too few samples"
    WIDE = "interval too wide"
    STRADDLES = "at the margin"
    SCATTERED = "blocks scatter"
    DRIFT = "drift"
    MODES = "two modes"
    CROSS_CHECK = "cross-check disagrees"
    DISCOVERY = "one of many"
    THROTTLED = "clock throttled"
    RUNS = "runs differ"


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause, its evidence in figures, and the remedy."""

    cause: Cause
    seen: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.seen}; {self.remedy}"


def explain_interval(ratio: Interval, margin: float) -> Reason:
    """Explain an interval that is missing, too wide, or narrow but across the margin."""
    if not ratio.is_bounded:
        return Reason(
            Cause.FEW,
            "too few pairs for an interval",
            "measure longer, or with less else running",
        )
    width = ratio.high - ratio.low
    longer = estimate_time_factor(ratio, margin)
    if width <= 2.0 * margin:
        return Reason(
            Cause.STRADDLES,
            f"the ratio lies at the margin of {margin:.1%}: {ratio.low:.4f} to {ratio.high:.4f}",
            "so small a difference seldom matters"
            + (f"; measure about {longer} times as long if it does" if longer <= LONGEST else ""),
        )
    wide = f"is {width:.1%} wide" if None not in ratio.useful_ends else "has no useful end"
    return Reason(
        Cause.WIDE,
        f"the ratio's interval {wide}, for a margin of {margin:.1%}",
        f"measure about {longer} times as long, or with less else running"
        if longer <= LONGEST
        else "measure with less else running: no reasonable time is enough",
    )


def estimate_time_factor(ratio: Interval, margin: float) -> int:
    """Return by what factor more pairs would decide, if the ratio stays the same.

    Both half-widths shrink with the square root of the number of pairs. For a ratio beyond the
    margin, the half-width towards it must become shorter than the distance; for a ratio within the
    margin, both half-widths must. The factor is above `LONGEST` for a ratio at the margin itself.
    """
    below, above = ratio.value - ratio.low, ratio.high - ratio.value
    to_low, to_high = ratio.value - (1.0 - margin), 1.0 + margin - ratio.value
    if to_high < 0.0:
        sides = [(below, -to_high)]
    elif to_low < 0.0:
        sides = [(above, -to_low)]
    else:
        sides = [(below, to_low), (above, to_high)]
    roots = [side / distance if distance > 0.0 else math.inf for side, distance in sides]
    root = max(roots)
    return LONGEST + 1 if root * root > LONGEST else max(2, math.ceil(root * root))


def explain_scatter(blocks: Interval, margin: float) -> Reason:
    """Explain an interval with a verdict, where some block of pairs nearly has another verdict."""
    return Reason(
        Cause.SCATTERED,
        f"the pairs are few or correlated, and their blocks range from {blocks.low:.3f} to "
        f"{blocks.high:.3f}, too near to the margin of {margin:.1%} for this number of blocks",
        "measure longer, or with less else running",
    )


def explain_drift(ratio: Interval, trend: Drift) -> Reason:
    """Explain a ratio whose start and end have different verdicts."""
    return Reason(
        Cause.DRIFT,
        f"the ratio drifted by {trend.total:+.1%} while it was measured, about {ratio.value:.3f}",
        "let the machine cool or settle, and measure again",
    )


def explain_modes(parts: tuple[DistributionMode, ...]) -> Reason:
    """Explain a ratio whose modes have different verdicts."""
    listed = " and ".join(f"{math.exp(part.value):.3f} in {part.share:.0%}" for part in parts)
    return Reason(
        Cause.MODES,
        f"the ratio has {len(parts)} usual values: {listed} of the pairs",
        "look for what changes between them: the clock, alignment, or another program",
    )


def explain_cross_check(verdict: Verdict, check: CrossCheck) -> Reason:
    """Explain a verdict that the cross-check does not support."""
    p_value = {Verdict.FASTER: check.p_above, Verdict.SLOWER: check.p_below}.get(verdict)
    if p_value is None:
        ranks = ""
    elif p_value > 0.5:
        ranks = ", and signed ranks point the other way"
    else:
        ranks = f", and signed ranks have p = {p_value:.2g}"
    return Reason(
        Cause.CROSS_CHECK,
        f"the pairs' median says {verdict.value}, the bootstrap of {check.blocks} blocks "
        f"{check.ratio.low:.4f} to {check.ratio.high:.4f}{ranks}",
        "measure again, longer",
    )


def explain_discovery(count: int, verdict: Verdict, p_value: float, rate: float) -> Reason:
    """Explain a difference that chance among `count` tasks accounts for."""
    return Reason(
        Cause.DISCOVERY,
        f"{verdict.value} with p = {p_value:.2g} is not significant "
        f"among {count} tasks (false discovery rate {rate:.0%})",
        "measure this task alone, or all of them longer",
    )


def explain_throttling(drop: float, rests: int) -> Reason:
    """Explain a device clock that stayed low, by the relative `drop` of a probe's speed."""
    return Reason(
        Cause.THROTTLED,
        f"the device's clock fell by {drop:.0%} and did not recover in {rests} rests",
        "let the machine cool, connect it to power, close other programs, and measure again",
    )


# Judge a candidate against its reference by several methods, with reasons if inconclusive.

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
