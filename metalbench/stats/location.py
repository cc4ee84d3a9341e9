"""Where the middle of a series of logarithms lies: an interval and a p-value that say the same.

Many nearly independent values are judged by ranks. Where they are worth fewer than thirty, a
correlation that outlasts the series cannot be seen in it, and ranks trust it too far; then the
medians of eight contiguous blocks are judged, unless nothing in the series speaks of correlation:
there ranks stand outliers better. Fewer than eight pairs, which carry no ranks, are a block each,
if all of them are far apart from equality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.blocks import FEWEST_BLOCKS, eight_medians
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.median import LARGEST, interval_at, without_trend
from metalbench.stats.student import deviation_of_mean, neighbours, reach_of_mean

# Fewer independent values than this do not show how much they depend on each other.
FEW = 30.0
# Ranks whose neighbours correlate by more than this part of 1 / sqrt(n) may well be dependent.
# Simulated: 0 finds less in heavy tails, 1 has more false verdicts of correlated pairs.
UNCORRELATED = 0.6
# A block nearer to the margin than this part of all blocks' range may lie beyond it the next time.
NEAREST = 0.25
# So few pairs will do where each has one side take so many times as long as the other, and the
# nearest is as many times the pairs' range away from equality: then no noise brings it about that
# does not turn eight pairs far more often.
FEWEST_FAR = 5
FAR = 3.0
FAR_RANGES = 3.0


@dataclass(frozen=True)
class Ranks:
    """The median by order statistics of values that are worth `effective` independent ones.

    `beyond` is how much further both ends reach; `value` the median, where that of `series` is of
    what a trend left over.
    """

    series: NDArray[np.float64]
    effective: int
    beyond: float
    value: float

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The median's interval; unbounded for too few values."""
        level = interval_at(self.series, self.effective, confidence)
        return _about(self.value, level.low - self.beyond, level.high + self.beyond)

    def p_value(self, low: float, high: float) -> float:
        """How often chance puts values as far outside of `low` to `high`: the sign test.

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

    def scattered(self, low: float, high: float) -> bool:
        """Never: ranks need no blocks."""
        return False


@dataclass(frozen=True)
class Blocks:
    """The mean of medians of blocks by Student's t, widened for the correlation of neighbours.

    Blocks that are `looks` have levels of their own; others were cut where chance had it.

    References
    ----------
    B. Schmeiser, "Batch size effects in the analysis of simulation output", Oper. Res. 30 (1982):
    why few, long blocks.
    """

    medians: NDArray[np.float64]
    beyond: float
    value: float
    looks: bool = False

    @property
    def deviation(self) -> float:
        """Standard deviation of the mean of the blocks."""
        return deviation_of_mean(self.medians)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The interval of the mean, the median and, of blocks cut by chance, every block."""
        reach = reach_of_mean(self.medians, confidence) + self.beyond
        centre = float(self.medians.mean())
        low, high = centre - reach, centre + reach
        if not self.looks:
            low, high = min(low, float(self.medians.min())), max(high, float(self.medians.max()))
        return _about(self.value, low, high)

    def p_value(self, low: float, high: float) -> float:
        """How often chance puts the mean as far outside of `low` to `high`."""
        from scipy.special import stdtr  # type: ignore[import-untyped,unused-ignore]

        centre, deviation = float(self.medians.mean()), self.deviation
        distance = max(centre - high, low - centre) - self.beyond
        if deviation == 0.0:
            return 0.0 if distance > 0.0 else 1.0
        return float(min(1.0, 2.0 * stdtr(self.medians.size - 1, -distance / deviation)))

    def scattered(self, low: float, high: float) -> bool:
        """Whether a block is on another side of `low` or `high` than the mean, or nearly so."""
        if self.looks:
            return False
        first, last, centre = (float(f(self.medians)) for f in (np.min, np.max, np.mean))
        near = NEAREST * (last - first)
        if centre > high:
            return first <= high + near and last > first
        if centre < low:
            return last >= low - near and last > first
        return first < low or last > high


def locate(logarithms: NDArray[np.float64], beyond: float = 0.0) -> Ranks | Blocks:
    """The median of a series of at least one value, by the method that suits it.

    Parameters
    ----------
    logarithms
        Of ratios, shape (n,), in order.
    beyond
        How much further both ends of its interval reach, for what clocks hide.

    Raises
    ------
    ValueError
        For no value.
    """
    if logarithms.size == 0:
        raise ValueError("locate: expected at least one ratio, got none")
    median, effective = float(np.median(logarithms)), effective_count(logarithms)
    if FEWEST_FAR <= logarithms.size < FEWEST_BLOCKS and far_apart(logarithms):
        return Blocks(logarithms, beyond, median)
    if effective >= FEW or (effective == logarithms.size and _uncorrelated(logarithms)):
        return Ranks(logarithms, math.floor(effective), beyond, median)
    trend = without_trend(logarithms)
    if trend is not None and effective_count(trend[0]) >= FEW:
        left, reach = trend
        return Ranks(left, math.floor(effective_count(left)), beyond + reach, median)
    if logarithms.size >= FEWEST_BLOCKS:
        return Blocks(eight_medians(logarithms), beyond, median)
    return Ranks(logarithms, math.floor(effective), beyond, median)


def far_apart(logarithms: NDArray[np.float64]) -> bool:
    """Whether all pairs have the same side take at least three times as long, and alike."""
    lowest, highest = float(logarithms.min()), float(logarithms.max())
    nearest = max(lowest, -highest)
    return nearest >= max(math.log(FAR), FAR_RANGES * (highest - lowest))


def _uncorrelated(values: NDArray[np.float64]) -> bool:
    ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
    return neighbours(ranks) <= UNCORRELATED / math.sqrt(values.size)


def _about(value: float, low: float, high: float) -> Interval:
    if math.isinf(high - low):
        return Interval(value, -math.inf, math.inf)
    return Interval(value, max(min(low, value), -LARGEST), min(max(high, value), LARGEST))
