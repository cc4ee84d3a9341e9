"""Reasons for an inconclusive verdict, with remedies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from metalbench.stats.crosscheck import CrossCheck
from metalbench.stats.drift import Drift
from metalbench.stats.interval import Interval
from metalbench.stats.modes import DistributionMode
from metalbench.stats.verdict import Verdict

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
    return Reason(
        Cause.WIDE,
        f"the ratio's interval is {width:.1%} wide, for a margin of {margin:.1%}",
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
