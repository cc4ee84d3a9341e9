"""What an interval of a speed ratio allows to be said."""

from __future__ import annotations

from enum import Enum

from metalbench.stats.interval import Interval

# A difference below one percent is of no use to anybody.
MARGIN = 0.01


class Verdict(str, Enum):
    """The candidate against its reference; THROTTLED if the clock dropped again and again."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    INCONCLUSIVE = "INCONCLUSIVE"
    THROTTLED = "THROTTLED"


def judge(ratio: Interval, margin: float = MARGIN) -> Verdict:
    """Verdict of a speed ratio (reference time / candidate time, above 1 is faster).

    FASTER and SLOWER need the whole interval outside of ``1 +- margin``, SAME the whole interval
    inside of it; everything else is INCONCLUSIVE.
    """
    if not ratio.bounded:
        return Verdict.INCONCLUSIVE
    if ratio.low > 1.0 + margin:
        return Verdict.FASTER
    if ratio.high < 1.0 - margin:
        return Verdict.SLOWER
    if ratio.low >= 1.0 - margin and ratio.high <= 1.0 + margin:
        return Verdict.SAME
    return Verdict.INCONCLUSIVE
