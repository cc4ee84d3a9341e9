"""Why nothing can be said, and what to do about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from metalbench.stats.crosscheck import CrossCheck
from metalbench.stats.drift import Drift
from metalbench.stats.interval import Interval
from metalbench.stats.modes import Mode
from metalbench.stats.verdict import Verdict

# Nobody measures longer than by this factor.
LONGEST = 100


class Cause(str, Enum):
    """What stands between a measurement and its verdict."""

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
    """A cause, what was seen of it in figures, and what helps."""

    cause: Cause
    seen: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.seen}; {self.remedy}"


def undecided(ratio: Interval, margin: float) -> Reason:
    """The interval is missing, wide, or narrow but across the margin."""
    if not ratio.bounded:
        return Reason(
            Cause.FEW,
            "too few pairs for an interval",
            "measure longer, or with less else running",
        )
    width = ratio.high - ratio.low
    longer = times_as_long(ratio, margin)
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
        else "measure with less else running: no bearable time would do",
    )


def times_as_long(ratio: Interval, margin: float) -> int:
    """How many times the pairs would decide, if the ratio stays where it is.

    Both sides of an interval shrink with the root of the number of pairs. Of a ratio beyond the
    margin, the side that faces it has to become shorter than the distance; of one within, both.
    More than `LONGEST` for one that lies at the margin itself.
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


def scattered(blocks: Interval, margin: float) -> Reason:
    """The interval has a verdict, but some block of the pairs nearly has another."""
    return Reason(
        Cause.SCATTERED,
        f"the pairs are few or much alike, and their blocks range from {blocks.low:.3f} to "
        f"{blocks.high:.3f}, too near to the margin of {margin:.1%} for their number",
        "measure longer, or with less else running",
    )


def drifts(ratio: Interval, trend: Drift) -> Reason:
    """The ratio at the start and at the end have different verdicts."""
    return Reason(
        Cause.DRIFT,
        f"the ratio drifted by {trend.total:+.1%} while it was measured, about {ratio.value:.3f}",
        "let the machine cool or settle, and measure again",
    )


def has_modes(parts: tuple[Mode, ...]) -> Reason:
    """The usual ratios have different verdicts."""
    listed = " and ".join(f"{math.exp(part.value):.3f} in {part.share:.0%}" for part in parts)
    return Reason(
        Cause.MODES,
        f"the ratio has {len(parts)} usual values: {listed} of the pairs",
        "look for what changes between them: the clock, alignment, or another program",
    )


def contradicted(verdict: Verdict, check: CrossCheck) -> Reason:
    """Other methods do not support the verdict."""
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


def one_of(count: int, verdict: Verdict, p_value: float, rate: float) -> Reason:
    """A difference that so many tasks explain."""
    return Reason(
        Cause.DISCOVERY,
        f"{verdict.value} with p = {p_value:.2g} is what chance brings about "
        f"among {count} tasks (false discovery rate {rate:.0%})",
        "measure this task alone, or all of them longer",
    )


def throttled(drop: float, rests: int) -> Reason:
    """The device's clock stayed low, by the relative `drop` in the speed of a probe."""
    return Reason(
        Cause.THROTTLED,
        f"the device's clock fell by {drop:.0%} and did not recover in {rests} rests",
        "let the machine cool, connect it to power, close other programs, and measure again",
    )
