"""The median with its interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.clock import clock_grain
from metalbench.stats.drift import find_drift
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.student import reach_of_mean

# Samples that ranks say nothing of, at the usual confidence, but Student's t does.
FEWEST_WITHOUT_RANKS, MOST_WITHOUT_RANKS = 5, 6
# Beyond it a float64 has no exponential.
LARGEST = 700.0


def median_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Median of times with its distribution-free interval, at ``n / tau`` effective samples.

    Where the clock's ticks show, the interval reaches half a tick further on both sides. Of a
    series that drifts far it is as wide as the drift. Five or six samples, of which there are no
    such ranks, have the t-interval of their logarithms' mean, with every sample in it.

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
    if not interval.bounded and FEWEST_WITHOUT_RANKS <= samples.size <= MOST_WITHOUT_RANKS:
        interval = _interval_of_few(samples, interval, confidence)
    beyond = 0.5 * clock_grain(samples) * interval.value
    if not interval.bounded or beyond == 0.0:
        return interval
    # Ranks end at samples; what reaches beyond them does so for other reasons than ticks.
    low = min(interval.low, max(interval.low - beyond, float(samples.min())))
    high = max(interval.high, min(interval.high + beyond, float(samples.max())))
    return Interval(interval.value, low, high)


def rank_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """`median_interval` of any quantity, whatever clock it comes from."""
    if samples.size == 0:
        raise ValueError("median_interval: expected at least one sample, got none")
    interval = _interval_of_ranks(samples, confidence)
    return interval if interval.bounded else _interval_of_trend(samples, interval, confidence)


def _interval_of_ranks(samples: NDArray[np.float64], confidence: float) -> Interval:
    return interval_at(samples, math.floor(effective_count(samples)), confidence)


def _interval_of_few(
    samples: NDArray[np.float64], unbounded: Interval, confidence: float
) -> Interval:
    median, least, most = unbounded.value, float(samples.min()), float(samples.max())
    if least <= 0.0:
        return unbounded
    logarithms = np.log(samples / median)  # the same in every unit
    centre, reach = float(logarithms.mean()), reach_of_mean(logarithms, confidence)
    low, high = (
        median * math.exp(max(-LARGEST, min(centre + by, LARGEST))) for by in (-reach, reach)
    )
    return Interval(median, min(low, least), max(high, most))


def interval_at(samples: NDArray[np.float64], effective: int, confidence: float) -> Interval:
    """Interval of the median of samples that are worth `effective` independent ones."""
    median = float(np.median(samples))
    rank = _lower_rank(effective, confidence)
    if rank is None:
        return Interval(median, -math.inf, math.inf)
    ordered = np.sort(samples)
    low = math.floor(rank / effective * samples.size)
    return Interval(median, float(ordered[low]), float(ordered[samples.size - 1 - low]))


def without_trend(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], float] | None:
    """What a significant trend leaves over, and how far it goes to both sides; else None."""
    trend = find_drift(samples)
    if trend is None or not trend.significant:
        return None
    rise = trend.per_sample.value * (np.arange(samples.size) - (samples.size - 1) / 2.0)
    return samples - rise, abs(float(rise[-1]))


def _interval_of_trend(
    samples: NDArray[np.float64], unbounded: Interval, confidence: float
) -> Interval:
    """Interval of what a trend leaves over, wider by how far the trend goes to both sides.

    A trend makes every sample resemble its neighbours, so that they seem worth next to nothing;
    but where it leads from and to is known, and the quantity was in between.
    """
    trend = without_trend(samples)
    if trend is None:
        return unbounded
    left, reach = trend
    level = _interval_of_ranks(left, confidence)
    if not level.bounded:
        return unbounded
    median = unbounded.value
    low = max(level.low - reach, float(samples.min()))
    high = min(level.high + reach, float(samples.max()))
    return Interval(median, min(low, median), max(high, median))


def _lower_rank(count: int, confidence: float) -> int | None:
    """Largest 0-based rank r with P(at most r of `count` lie below the median) <= alpha / 2."""
    from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

    tail = (1.0 - confidence) / 2.0
    # Ten standard deviations below the mean no tail of interest is left.
    first = max(0, count // 2 - 5 * math.isqrt(count) - 1)
    ranks = np.arange(first, count // 2 + 1)
    within = np.flatnonzero(bdtr(ranks, count, 0.5) <= tail)
    return int(ranks[within[-1]]) if within.size else None
