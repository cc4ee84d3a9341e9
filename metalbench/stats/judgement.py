"""A candidate against its reference, by every method, with the reasons for silence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.clock import clock_grain
from metalbench.stats.crosscheck import CrossCheck, cross_check
from metalbench.stats.discovery import FALSE_DISCOVERY_RATE, surviving_verdicts
from metalbench.stats.drift import Drift, find_drift
from metalbench.stats.interval import Interval
from metalbench.stats.modes import Mode, find_modes
from metalbench.stats.ratio import log_ratios, ratio_interval, ratio_p_value
from metalbench.stats.reasons import Reason, contradicted, drifts, has_modes, one_of, undecided
from metalbench.stats.verdict import MARGIN, Verdict, judge


@dataclass(frozen=True, slots=True)
class Judgement:
    """What can be said of a ratio (above 1 the candidate is faster).

    `reasons` is empty unless the verdict is INCONCLUSIVE. `drift`, `modes` (of the ratio) and
    `cross_check` are there whether or not they matter to the verdict; None where there are too few
    independent pairs for them.
    """

    verdict: Verdict
    ratio: Interval
    reasons: tuple[Reason, ...]
    p_value: float
    effective_pairs: float
    drift: Drift | None
    modes: tuple[Mode, ...]
    cross_check: CrossCheck | None


def assess(
    reference: NDArray[np.float64], candidate: NDArray[np.float64], margin: float = MARGIN
) -> Judgement:
    """Judge pairs of times by their ratio's interval, and by what could overturn it.

    A drift of the ratio, or several modes of it, make a verdict INCONCLUSIVE if some part of the
    run would have another; so does a cross-check that disagrees.

    Parameters
    ----------
    reference, candidate
        Shape (n,) each, n >= 1, positive, in the same unit; entry i of both is pair i.
    margin
        Differences below this are of no use to anybody.

    Raises
    ------
    ValueError
        If the lengths differ, there is no pair, or a time is not positive.
    """
    ratio = ratio_interval(reference, candidate)
    verdict = judge(ratio, margin)
    logarithms = log_ratios(reference, candidate)
    trend = find_drift(logarithms)
    parts = _usual_ratios(reference, candidate)
    check = cross_check(logarithms)
    reasons = [undecided(ratio, margin)] if verdict is Verdict.INCONCLUSIVE else []
    if trend is not None and _turned_by_drift(verdict, ratio, trend, margin):
        reasons.append(drifts(ratio, trend))
    if _turned_by_modes(verdict, parts, margin):
        reasons.append(has_modes(parts))
    if check is not None and check.disagrees(verdict, margin):
        reasons.append(contradicted(verdict, check))
    return Judgement(
        verdict=Verdict.INCONCLUSIVE if reasons else verdict,
        ratio=ratio,
        reasons=tuple(reasons),
        p_value=ratio_p_value(reference, candidate, margin),
        effective_pairs=effective_count(logarithms),
        drift=trend,
        modes=parts,
        cross_check=check,
    )


def assess_suite(
    judgements: list[Judgement], rate: float = FALSE_DISCOVERY_RATE
) -> list[Judgement]:
    """A suite's judgements, of which the differences that many tries explain say nothing more."""
    verdicts = surviving_verdicts(
        [judgement.verdict for judgement in judgements],
        [judgement.p_value for judgement in judgements],
        rate,
    )
    return [
        judgement
        if verdict is judgement.verdict
        else replace(
            judgement,
            verdict=verdict,
            reasons=(one_of(len(judgements), judgement.verdict, judgement.p_value, rate),),
        )
        for judgement, verdict in zip(judgements, verdicts, strict=True)
    ]


def _turned_by_drift(verdict: Verdict, ratio: Interval, trend: Drift, margin: float) -> bool:
    if not trend.significant:
        return False
    half = math.sqrt(1.0 + trend.total)
    return any(_alone(ratio.value * end, margin) is not verdict for end in (half, 1.0 / half))


def _turned_by_modes(verdict: Verdict, parts: tuple[Mode, ...], margin: float) -> bool:
    return len(parts) > 1 and any(
        _alone(math.exp(part.value), margin) is not verdict for part in parts
    )


def _usual_ratios(
    reference: NDArray[np.float64], candidate: NDArray[np.float64]
) -> tuple[Mode, ...]:
    """Modes of the ratio; where both times have as many, those of one to those of the other.

    A machine that changes between two clocks within pairs gives their ratio a third value and a
    fourth, although at either clock there is but one.
    """
    grains = [clock_grain(times) for times in (reference, candidate)]
    parts = find_modes(log_ratios(reference, candidate), sum(grains))
    if len(parts) == 1:
        return parts
    theirs, ours = (
        find_modes(np.log(times), grain)
        for times, grain in zip((reference, candidate), grains, strict=True)
    )
    if len(theirs) != len(ours) or len(ours) == 1:
        return parts
    return tuple(
        Mode(one.value - other.value, min(one.share, other.share))
        for one, other in zip(theirs, ours, strict=True)
    )


def _alone(ratio: float, margin: float) -> Verdict:
    """Verdict of a ratio that is known exactly."""
    return judge(Interval(ratio, ratio, ratio), margin)
