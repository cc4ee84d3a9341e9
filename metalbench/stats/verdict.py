"""The verdict of a speed ratio's interval."""

from __future__ import annotations

from enum import Enum

from metalbench.stats.interval import Interval

# Smaller relative differences count as equal.
MARGIN = 0.01


class Verdict(str, Enum):
    """The verdict of a candidate against its reference; THROTTLED if the clock stayed low."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    INCONCLUSIVE = "INCONCLUSIVE"
    THROTTLED = "THROTTLED"


def judge(ratio: Interval, margin: float = MARGIN) -> Verdict:
    """Return the verdict of a speed ratio (reference time / candidate time, above 1 is faster).

    FASTER and SLOWER need the whole interval outside of ``1 +- margin``, SAME the whole interval
    inside of it; all other intervals are INCONCLUSIVE.
    """
    if not ratio.is_bounded:
        return Verdict.INCONCLUSIVE
    if ratio.low > 1.0 + margin:
        return Verdict.FASTER
    if ratio.high < 1.0 - margin:
        return Verdict.SLOWER
    if ratio.low >= 1.0 - margin and ratio.high <= 1.0 + margin:
        return Verdict.SAME
    return Verdict.INCONCLUSIVE
