"""An estimate with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

CONFIDENCE = 0.98
# An end that is further from the estimate than this factor is of no use to a reader.
FARTHEST = 100.0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its confidence interval; ``low <= value <= high``.

    A sample that is too small for an interval has ``low = -inf`` and ``high = inf``.
    """

    value: float
    low: float
    high: float

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def useful_ends(self) -> tuple[float | None, float | None]:
        """The ends to print: None for an end that is infinite or absurdly far away.

        A few samples that scatter have intervals such as [0, 12621475651015].
        """
        low = self.low if math.isfinite(self.low) else None
        high = self.high if math.isfinite(self.high) else None
        if low is not None and self.value > 0 and low * FARTHEST < self.value:
            low = None
        if high is not None and self.value > 0 and high > FARTHEST * self.value:
            high = None
        return low, high

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width, as a fraction of the value."""
        return (self.high - self.low) / (2.0 * abs(self.value)) if self.value else math.inf

    def map(self, function: Callable[[float], float]) -> Interval:
        """Apply a monotone function to the quantity; a falling function swaps the ends."""
        if not self.is_bounded:
            return replace(self, value=function(self.value))
        low, high = sorted((function(self.low), function(self.high)))
        return replace(self, value=function(self.value), low=low, high=high)

    def scale(self, factor: float) -> Interval:
        """Multiply the quantity by ``factor``."""
        return self.map(lambda value: factor * value)


# The verdict of a speed ratio's interval.

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
