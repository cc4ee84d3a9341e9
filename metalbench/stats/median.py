"""The median with its interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_sample_size
from metalbench.stats.clock import clock_resolution
from metalbench.stats.drift import find_drift
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.student import half_width_of_mean

# Numbers of samples with no interval by ranks at the usual confidence, but one by Student's t.
FEWEST_WITHOUT_RANKS, MOST_WITHOUT_RANKS = 5, 6
# The exponential of a larger value overflows float64.
LARGEST = 700.0


def median_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Return the median of times with its distribution-free interval, at ``n / tau`` samples.

    If the clock has coarse ticks, the interval is wider by half a tick on both sides. For a series
    with a strong trend, it is as wide as the trend. Five or six samples are too few for order
    statistics; they get the t-interval of the mean of their logarithms, extended to every sample.

    Parameters
    ----------
    samples
        Shape (n,), n >= 1, in the order of measurement.
    confidence
        Probability that the interval covers the true median.

    Raises
    ------
    ValueError
        For no samples.

    References
    ----------
    H. A. David and H. N. Nagaraja, "Order Statistics" (3rd ed., 2003), section 7.1: the number of
    samples below the median is binomial, whatever their distribution. Autocorrelation multiplies
    the variance of that number by tau, so the ranks are those of n / tau samples, scaled to n.
    """
    interval = rank_interval(samples, confidence)
    if not interval.is_bounded and FEWEST_WITHOUT_RANKS <= samples.size <= MOST_WITHOUT_RANKS:
        interval = _interval_of_few(samples, interval, confidence)
    beyond = 0.5 * clock_resolution(samples) * interval.value
    if not interval.is_bounded or beyond == 0.0:
        return interval
    # The widening for ticks never exceeds the range of the samples.
    low = min(interval.low, max(interval.low - beyond, float(samples.min())))
    high = max(interval.high, min(interval.high + beyond, float(samples.max())))
    return Interval(interval.value, low, high)


def rank_interval(samples: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Return `median_interval` of any quantity, without the correction for a clock."""
    if samples.size == 0:
        raise ValueError("median_interval: expected at least one sample, got none")
    interval = _interval_of_ranks(samples, confidence)
    return interval if interval.is_bounded else _interval_of_trend(samples, interval, confidence)


def _interval_of_ranks(samples: NDArray[np.float64], confidence: float) -> Interval:
    return interval_by_ranks(samples, math.floor(effective_sample_size(samples)), confidence)


def _interval_of_few(
    samples: NDArray[np.float64], unbounded: Interval, confidence: float
) -> Interval:
    median, least, most = unbounded.value, float(samples.min()), float(samples.max())
    if least <= 0.0:
        return unbounded
    logarithms = np.log(samples / median)  # the same in every unit
    centre, reach = float(logarithms.mean()), half_width_of_mean(logarithms, confidence)
    low, high = (
        median * math.exp(max(-LARGEST, min(centre + by, LARGEST))) for by in (-reach, reach)
    )
    return Interval(median, min(low, least), max(high, most))


def interval_by_ranks(samples: NDArray[np.float64], effective: int, confidence: float) -> Interval:
    """Return the interval of the median by order statistics at `effective` independent samples."""
    median = float(np.median(samples))
    rank = _lower_rank(effective, confidence)
    if rank is None:
        return Interval(median, -math.inf, math.inf)
    ordered = np.sort(samples)
    low = math.floor(rank / effective * samples.size)
    return Interval(median, float(ordered[low]), float(ordered[samples.size - 1 - low]))


def remove_trend(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], float] | None:
    """Return the residuals of a significant trend and half its extent; None without one."""
    trend = find_drift(samples)
    if trend is None or not trend.is_significant:
        return None
    rise = trend.per_sample.value * (np.arange(samples.size) - (samples.size - 1) / 2.0)
    return samples - rise, abs(float(rise[-1]))


def _interval_of_trend(
    samples: NDArray[np.float64], unbounded: Interval, confidence: float
) -> Interval:
    """Return the interval of a trend's residuals, widened by half the trend's extent on both sides.

    A trend correlates neighbours, so the effective sample size is nearly 0. The extent of the trend
    is known, and the quantity lies within it.
    """
    trend = remove_trend(samples)
    if trend is None:
        return unbounded
    left, reach = trend
    level = _interval_of_ranks(left, confidence)
    if not level.is_bounded:
        return unbounded
    median = unbounded.value
    low = max(level.low - reach, float(samples.min()))
    high = min(level.high + reach, float(samples.max()))
    return Interval(median, min(low, median), max(high, median))


def _lower_rank(count: int, confidence: float) -> int | None:
    """Return the largest 0-based rank r of the lower end of the interval.

    P(at most r of `count` values lie below the median) <= alpha / 2. None if there is none.
    """
    from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

    tail = (1.0 - confidence) / 2.0
    # Ten standard deviations below the mean the tail is negligible.
    first = max(0, count // 2 - 5 * math.isqrt(count) - 1)
    ranks = np.arange(first, count // 2 + 1)
    within = np.flatnonzero(bdtr(ranks, count, 0.5) <= tail)
    return int(ranks[within[-1]]) if within.size else None
