"""Interval and p-value of the median of a series of log ratios, by the same method.

Three methods serve different series. With an effective sample size of at least thirty, order
statistics are used. Below that the correlation cannot be estimated reliably, so Student's t is
applied to the medians of eight contiguous blocks, unless the series shows no autocorrelation: then
order statistics are kept, because they are robust against outliers. With fewer than eight pairs,
each pair is a block, if all of them show the same large effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_sample_size
from metalbench.stats.blocks import FEWEST_BLOCKS, medians_of_eight_blocks
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.median import LARGEST, interval_by_ranks, remove_trend
from metalbench.stats.student import (
    half_width_of_mean,
    lag1_autocorrelation,
    standard_error_of_mean,
)

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
