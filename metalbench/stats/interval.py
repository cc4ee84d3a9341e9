"""An estimate with the interval that goes with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

CONFIDENCE = 0.98


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its confidence interval; ``low <= value <= high``.

    A sample too small to carry an interval has ``low = -inf`` and ``high = inf``.
    """

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether the samples carried an interval at all."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width, as a fraction of the value."""
        return (self.high - self.low) / (2.0 * abs(self.value)) if self.value else math.inf

    def map(self, function: Callable[[float], float]) -> Interval:
        """Apply a monotone function of the quantity; a falling one swaps the ends."""
        if not self.bounded:
            return replace(self, value=function(self.value))
        low, high = sorted((function(self.low), function(self.high)))
        return replace(self, value=function(self.value), low=low, high=high)

    def scaled(self, factor: float) -> Interval:
        """Multiply the quantity by ``factor``."""
        return self.map(lambda value: factor * value)
