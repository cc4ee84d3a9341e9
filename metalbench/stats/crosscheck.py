"""Check a verdict with two other methods: a bootstrap and the Wilcoxon signed-rank test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import autocorrelation_time
from metalbench.stats.blocks import block_length, block_medians
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.verdict import MARGIN, Verdict

# The interval of a verdict has 1 % on each side; the other methods may be less certain.
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A ratio by the bootstrap, and the Wilcoxon signed-rank test of its logarithm.

    `p_above` is the one-sided p-value of a ratio above 1, `p_below` of a ratio below 1. `blocks` is
    the number of block medians.
    """

    ratio: Interval
    p_above: float
    p_below: float
    blocks: int

    def disagrees(self, verdict: Verdict, margin: float = MARGIN) -> bool:
        """Return whether neither method supports a verdict.

        FASTER needs a bootstrap interval above 1 and a significant `p_above`, SLOWER the opposite.
        SAME needs a bootstrap interval that overlaps ``1 +- margin``. INCONCLUSIVE needs no
        support.
        """
        if verdict is Verdict.FASTER:
            return self.ratio.low <= 1.0 or self.p_above > SIGNIFICANCE
        if verdict is Verdict.SLOWER:
            return self.ratio.high >= 1.0 or self.p_below > SIGNIFICANCE
        if verdict is Verdict.SAME:
            return self.ratio.low > 1.0 + margin or self.ratio.high < 1.0 - margin
        return False


def cross_check(
    logarithms: NDArray[np.float64], confidence: float = CONFIDENCE
) -> CrossCheck | None:
    """Return bootstrap and signed ranks of a series' block medians; None for too few blocks.

    Parameters
    ----------
    logarithms
        Logarithms of the pairs' ratios, shape (n,), in order.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987); H. R. Kuensch, "The
    jackknife and the bootstrap for general stationary observations", Ann. Statist. 17 (1989): the
    use of blocks; F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1
    (1945).
    """
    length = block_length(logarithms.size, autocorrelation_time(logarithms))
    if length is None:
        return None
    return cross_check_blocks(block_medians(logarithms, length), confidence)


def cross_check_blocks(medians: NDArray[np.float64], confidence: float = CONFIDENCE) -> CrossCheck:
    """Return bootstrap and signed ranks of independent block medians."""
    # An odd number, whose median is one of the values; the first block is the least settled.
    medians = medians[1 - medians.size % 2 :]
    ratio = bootstrap_median(medians, confidence).map(math.exp)
    return CrossCheck(ratio, *wilcoxon_test(medians), medians.size)


def bootstrap_median(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Return the bias-corrected and accelerated (BCa) bootstrap interval of a median.

    Needs an odd number of values. No resamples are drawn: the number of values of a resample below
    a threshold is binomial, so the distribution of the resampled median is known exactly.

    References
    ----------
    B. Efron, "The Jackknife, the Bootstrap and Other Resampling Plans" (1982), section 10.4.
    """
    from scipy.special import bdtr, ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    ordered = np.sort(values)
    count, middle = ordered.size, ordered.size // 2
    # Probability that a resample's median is at most each of the values.
    upto = 1.0 - bdtr(middle, count, np.arange(1, count + 1) / count)
    first, last = (
        np.searchsorted(ordered, ordered[middle], "left"),
        np.searchsorted(ordered, ordered[middle], "right"),
    )
    below = (upto[first - 1] if first else 0.0) / 2.0 + upto[last - 1] / 2.0
    bias, acceleration = float(ndtri(below)), _acceleration(ordered)
    tail = (1.0 - confidence) / 2.0
    z = bias + np.asarray(ndtri([tail, 1.0 - tail]))
    places = np.searchsorted(upto, ndtr(bias + z / (1.0 - acceleration * z)))
    low, high = ordered[np.minimum(places, count - 1)]
    median = float(ordered[middle])
    return Interval(median, min(float(low), median), max(float(high), median))


def wilcoxon_test(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the one-sided p-values of the Wilcoxon signed-rank test, above 0 and below 0.

    Uses the normal approximation with a continuity correction. Zeros are dropped; ties share ranks.
    """
    from scipy.special import ndtr  # type: ignore[import-untyped,unused-ignore]

    values = values[values != 0.0]
    _, place, equal = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    if equal.size == 0:
        return 1.0, 1.0
    ranks = (np.cumsum(equal) - (equal - 1) / 2.0)[place]
    above, total = float(ranks[values > 0.0].sum()), float(ranks.sum())
    deviation = math.sqrt(float(np.sum(ranks * ranks))) / 2.0
    # Continuity correction: half the step of a rank sum.
    excess = above - total / 2.0
    return (
        float(ndtr((0.5 - excess) / deviation)),
        float(ndtr((0.5 + excess) / deviation)),
    )


def _acceleration(ordered: NDArray[np.float64]) -> float:
    """Return the acceleration constant: the skewness of the jackknife medians over six."""
    middle = ordered.size // 2
    before, at, after = ordered[middle - 1 : middle + 2]
    medians = np.repeat(
        [(at + after) / 2.0, (before + after) / 2.0, (before + at) / 2.0], [middle, 1, middle]
    )
    distance = medians.mean() - medians
    spread = float(np.sum(distance**2))
    return float(np.sum(distance**3)) / (6.0 * spread**1.5) if spread > 0.0 else 0.0
