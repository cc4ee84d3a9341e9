"""An estimate with the interval that goes with it, and the median's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.clock import clock_grain

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
            return Interval(function(self.value), -math.inf, math.inf)
        low, high = sorted((function(self.low), function(self.high)))
        return Interval(function(self.value), low, high)

    def scaled(self, factor: float) -> Interval:
        """Multiply the quantity by ``factor``."""
        return self.map(lambda value: factor * value)


def median_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Median of times with its distribution-free interval, at ``n / tau`` effective samples.

    Where the clock's ticks show, the interval reaches half a tick further on both sides.

    Parameters
    ----------
    samples
        Shape (n,), n >= 1, in the order in which they were taken.
    confidence
        Probability that the interval covers the true median.

    Raises
    ------
    ValueError
        For no samples.

    References
    ----------
    H. A. David and H. N. Nagaraja, "Order Statistics" (3rd ed., 2003), section 7.1: the number of
    samples below the median is binomial, whatever their distribution. Correlation widens that
    number's variance by tau, so the ranks are those of n / tau samples, scaled to n.
    """
    interval = rank_interval(samples, confidence)
    beyond = 0.5 * clock_grain(samples) * interval.value
    if not interval.bounded or beyond == 0.0:
        return interval
    low = max(interval.low - beyond, float(samples.min()))
    return Interval(interval.value, low, min(interval.high + beyond, float(samples.max())))


def rank_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """`median_interval` of any quantity, whatever clock it comes from."""
    if samples.size == 0:
        raise ValueError("median_interval: expected at least one sample, got none")
    median = float(np.median(samples))
    effective = math.floor(effective_count(samples))
    rank = _lower_rank(effective, confidence)
    if rank is None:
        return Interval(median, -math.inf, math.inf)
    ordered = np.sort(samples)
    low = math.floor(rank / effective * samples.size)
    return Interval(median, float(ordered[low]), float(ordered[samples.size - 1 - low]))


def _lower_rank(count: int, confidence: float) -> int | None:
    """Largest 0-based rank r with P(at most r of `count` lie below the median) <= alpha / 2."""
    from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

    tail = (1.0 - confidence) / 2.0
    # Ten standard deviations below the mean no tail of interest is left.
    first = max(0, count // 2 - 5 * math.isqrt(count) - 1)
    ranks = np.arange(first, count // 2 + 1)
    within = np.flatnonzero(bdtr(ranks, count, 0.5) <= tail)
    return int(ranks[within[-1]]) if within.size else None
