"""The mean of a few values in order, by Student's t, widened for autocorrelation.

References
----------
Student, "The probable error of a mean", Biometrika 6 (1908).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.series import (
    FEWEST_BLOCKS,
    clock_resolution,
    effective_sample_size,
    find_drift,
    medians_of_eight_blocks,
)

# Upper limit of the correlation: that of a few values can come near 1.
MOST_CORRELATED = 0.95


def standard_error_of_mean(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of at least two values in order.

    The lag-1 autocorrelation r of k values about their mean is biased by about -1 / k, which is
    corrected. The error is multiplied by sqrt((1 + r) / (1 - r)), as of an AR(1) process.
    """
    count = values.size
    r = min(max(0.0, lag1_autocorrelation(values) + 1.0 / count), MOST_CORRELATED)
    spread = float(values.std(ddof=1)) / math.sqrt(count)
    return spread * math.sqrt((1.0 + r) / (1.0 - r))


def half_width_of_mean(values: NDArray[np.float64], confidence: float) -> float:
    """Return the half-width of the mean's t-interval."""
    from scipy.special import stdtrit  # type: ignore[import-untyped,unused-ignore]

    return float(stdtrit(values.size - 1, 0.5 + confidence / 2.0)) * standard_error_of_mean(values)


def lag1_autocorrelation(values: NDArray[np.float64]) -> float:
    """Return the lag-1 autocorrelation, -1 to 1; 0 if all values are equal."""
    centred = values - values.mean()
    square = float(np.sum(centred * centred))
    return float(np.sum(centred[1:] * centred[:-1])) / square if square > 0.0 else 0.0


# The median with its interval.

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


# Interval and p-value of the median of a series of log ratios, by the same method.
#
# Three methods serve different series. With an effective sample size of at least thirty, order
# statistics are used. Below that the correlation cannot be estimated reliably, so Student's t is
# applied to the medians of eight contiguous blocks, unless the series shows no autocorrelation:
# then order statistics are kept, because they are robust against outliers. With fewer than eight
# pairs, each pair is a block, if all of them show the same large effect.

# With a smaller effective sample size the autocorrelation cannot be estimated reliably.
FEW = 30.0
# RankLocation whose lag1_autocorrelation correlate by more than this part of 1 / sqrt(n) may well
# be dependent. Simulated: 0 has less power in heavy tails, 1 has more false verdicts of correlated
# pairs.
UNCORRELATED = 0.6
# A block nearer to the margin than this share of all blocks' range may lie beyond it in a
# repetition.
NEAREST = 0.25
# This number of pairs suffices if in each of them one side takes LARGE_EFFECT times as long, and
# the distance of the nearest pair from equality is LARGE_EFFECT_RANGES times the range of all
# pairs. Noise that causes this changes verdicts of eight pairs far more often.
LARGE_EFFECT_PAIRS = 5
LARGE_EFFECT = 3.0
LARGE_EFFECT_RANGES = 3.0


@dataclass(frozen=True)
class RankLocation:
    """The median by order statistics, at an effective sample size `effective`.

    `beyond` widens both ends of the interval. `value` is the median; `series` may be the residuals
    of a trend.
    """

    series: NDArray[np.float64]
    effective: int
    beyond: float
    value: float

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the interval of the median; unbounded for too few values."""
        level = interval_by_ranks(self.series, self.effective, confidence)
        return _about(self.value, level.low - self.beyond, level.high + self.beyond)

    def p_value(self, low: float, high: float) -> float:
        """Return the p-value of a median outside of `low` to `high`, by the sign test.

        References
        ----------
        W. J. Dixon and A. M. Mood, "The statistical sign test", JASA 41 (1946).
        """
        from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

        share = min(
            np.mean(self.series - self.beyond <= high), np.mean(self.series + self.beyond >= low)
        )
        below = math.ceil(share * self.effective)
        return float(min(1.0, 2.0 * bdtr(below, self.effective, 0.5)))

    def has_scattered_blocks(self, low: float, high: float) -> bool:
        """Return False: this method has no blocks."""
        return False


@dataclass(frozen=True)
class BlockLocation:
    """The mean of block medians by Student's t, widened for the correlation of neighbours.

    With `by_batch` the blocks are batches with different levels; otherwise they are contiguous
    pieces of the series.

    References
    ----------
    B. Schmeiser, "Batch size effects in the analysis of simulation output", Oper. Res. 30 (1982):
    the use of few, long blocks.
    """

    medians: NDArray[np.float64]
    beyond: float
    value: float
    by_batch: bool = False

    @property
    def deviation(self) -> float:
        """Standard error of the mean of the blocks."""
        return standard_error_of_mean(self.medians)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the t-interval of the mean, extended to the median.

        Without `by_batch` it is also extended to every block.
        """
        reach = half_width_of_mean(self.medians, confidence) + self.beyond
        centre = float(self.medians.mean())
        low, high = centre - reach, centre + reach
        if not self.by_batch:
            low, high = min(low, float(self.medians.min())), max(high, float(self.medians.max()))
        return _about(self.value, low, high)

    def p_value(self, low: float, high: float) -> float:
        """Return the p-value of a mean outside of `low` to `high`."""
        from scipy.special import stdtr  # type: ignore[import-untyped,unused-ignore]

        centre, deviation = float(self.medians.mean()), self.deviation
        distance = max(centre - high, low - centre) - self.beyond
        if deviation == 0.0:
            return 0.0 if distance > 0.0 else 1.0
        return float(min(1.0, 2.0 * stdtr(self.medians.size - 1, -distance / deviation)))

    def has_scattered_blocks(self, low: float, high: float) -> bool:
        """Return whether a block lies beyond an end, `low` or `high`, and the mean does not."""
        if self.by_batch:
            return False
        first, last, centre = (float(f(self.medians)) for f in (np.min, np.max, np.mean))
        near = NEAREST * (last - first)
        if centre > high:
            return first <= high + near and last > first
        if centre < low:
            return last >= low - near and last > first
        return first < low or last > high


def locate(logarithms: NDArray[np.float64], beyond: float = 0.0) -> RankLocation | BlockLocation:
    """Estimate the median of at least one value, by the method that fits the series.

    Parameters
    ----------
    logarithms
        Of ratios, shape (n,), in order.
    beyond
        Widening of both ends of the interval, for the resolution of clocks.

    Raises
    ------
    ValueError
        For an empty series.
    """
    if logarithms.size == 0:
        raise ValueError("locate: expected at least one ratio, got none")
    median, effective = float(np.median(logarithms)), effective_sample_size(logarithms)
    if LARGE_EFFECT_PAIRS <= logarithms.size < FEWEST_BLOCKS and is_large_effect(logarithms):
        return BlockLocation(logarithms, beyond, median)
    if effective >= FEW or (effective == logarithms.size and _is_uncorrelated(logarithms)):
        return RankLocation(logarithms, math.floor(effective), beyond, median)
    trend = remove_trend(logarithms)
    if trend is not None and effective_sample_size(trend[0]) >= FEW:
        left, reach = trend
        return RankLocation(left, math.floor(effective_sample_size(left)), beyond + reach, median)
    if logarithms.size >= FEWEST_BLOCKS:
        return BlockLocation(medians_of_eight_blocks(logarithms), beyond, median)
    return RankLocation(logarithms, math.floor(effective), beyond, median)


def is_large_effect(logarithms: NDArray[np.float64]) -> bool:
    """Return whether in all pairs the same side takes at least three times as long.

    Also requires that the range of the pairs is small against the effect.
    """
    lowest, highest = float(logarithms.min()), float(logarithms.max())
    nearest = max(lowest, -highest)
    return nearest >= max(math.log(LARGE_EFFECT), LARGE_EFFECT_RANGES * (highest - lowest))


def _is_uncorrelated(values: NDArray[np.float64]) -> bool:
    ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
    return lag1_autocorrelation(ranks) <= UNCORRELATED / math.sqrt(values.size)


def _about(value: float, low: float, high: float) -> Interval:
    if math.isinf(high - low):
        return Interval(value, -math.inf, math.inf)
    return Interval(value, max(min(low, value), -LARGEST), min(max(high, value), LARGEST))
