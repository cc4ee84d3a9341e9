"""Find a monotone trend in a series of times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import autocorrelation_time
from metalbench.stats.blocks import MOST_BLOCKS, block_length, block_medians
from metalbench.stats.interval import CONFIDENCE, Interval

# A trend with a larger p-value is not reported.
SIGNIFICANCE = 0.01


@dataclass(frozen=True, slots=True)
class Drift:
    """The trend of a series.

    `per_sample` is the relative change from one sample to the next, with its interval. `tau` is
    Kendall's rank correlation with time, `p_value` its two-sided significance.
    """

    per_sample: Interval
    tau: float
    p_value: float
    samples: int

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below `SIGNIFICANCE`."""
        return self.p_value < SIGNIFICANCE

    @property
    def total(self) -> float:
        """Relative change over the whole series."""
        return math.expm1(self.per_sample.value * self.samples)


def find_drift(logarithms: NDArray[np.float64], confidence: float = CONFIDENCE) -> Drift | None:
    """Return the trend of a series' block medians; None if it is too short or too correlated.

    The length of the blocks follows from the autocorrelation of the residuals. The trend itself
    would count as autocorrelation.

    Parameters
    ----------
    logarithms
        Natural logarithms of times or of ratios, shape (n,), in order.
    confidence
        Of the interval of the slope.

    References
    ----------
    M. Kendall, "A new measure of rank correlation", Biometrika 30 (1938); H. Theil (1950);
    P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
    """
    count = logarithms.size
    if (first := block_length(count, 1.0)) is None:
        return None
    slope = float(np.median(_slopes(block_medians(logarithms, first)))) / first
    residuals = logarithms - slope * np.arange(count)
    length = block_length(count, autocorrelation_time(residuals))
    if length is None:
        return None
    medians = block_medians(logarithms, length)
    return estimate_trend(medians, length, count, confidence)


def estimate_trend(
    medians: NDArray[np.float64], length: float, samples: int, confidence: float = CONFIDENCE
) -> Drift:
    """Return the trend of independent medians of blocks of `length`, of `samples` in all."""
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    slopes = np.sort(_slopes(medians))
    score = float(np.sign(slopes).sum())
    deviation = math.sqrt(_score_variance(medians))
    # Continuity correction: the score takes only every other integer.
    z = max(abs(score) - 1.0, 0.0) / deviation if deviation else 0.0
    reach = float(ndtri(0.5 + confidence / 2.0)) * deviation
    low = max(math.floor((slopes.size - reach) / 2.0), 0)
    value = float(np.median(slopes))
    per_sample = Interval(
        value / length, float(slopes[low]) / length, float(slopes[-1 - low]) / length
    )
    return Drift(per_sample, score / slopes.size, 2.0 * float(ndtr(-z)), samples)


def _slopes(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes through all pairs of at most 128 equidistant points (Theil and Sen)."""
    first, second = np.triu_indices(min(medians.size, 2 * MOST_BLOCKS), 1)
    return np.asarray((medians[second] - medians[first]) / (second - first), dtype=np.float64)


def _score_variance(medians: NDArray[np.float64]) -> float:
    """Return the variance of Kendall's score of independent values, corrected for ties."""
    ties = np.unique(medians, return_counts=True)[1].astype(float)
    count = float(medians.size)

    def pairs(n: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
        return n * (n - 1.0) * (2.0 * n + 5.0)

    return float(pairs(count) - np.sum(pairs(ties))) / 18.0
