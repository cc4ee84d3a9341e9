"""How steady a series of times is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.clock import clock_grain
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.location import locate
from metalbench.stats.ratio import log_ratios

CENTRAL = 0.90
# Makes the median absolute deviation of a normal sample its standard deviation: 1 / Phi^-1(3/4).
MAD_SCALE = 1.4826
OUTLIER_DEVIATIONS = 5.0
# A clock's ticks can make most samples equal and their deviation nought.
LEAST_RELATIVE_DISTANCE = 0.01
# Nearer to the median than this part of it is as steady as anybody can use.
LEAST_SPREAD = 0.001


def stability(samples: NDArray[np.float64]) -> float:
    """1 - (half-width of the central 90 % of samples / median), clipped to 0..1.

    Parameters
    ----------
    samples
        Shape (n,), n >= 1, positive.
    """
    tail = (1.0 - CENTRAL) / 2.0
    low, median, high = np.quantile(samples, [tail, 0.5, 1.0 - tail])
    return float(np.clip(1.0 - (high - low) / (2.0 * median), 0.0, 1.0))


def outliers(samples: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which samples lie further than five scaled median absolute deviations from the median.

    They are flagged and kept: the median does not mind them, and they happened.

    References
    ----------
    B. Iglewicz and D. Hoaglin, "How to Detect and Handle Outliers" (1993).
    """
    median = np.median(samples)
    distance = np.abs(samples - median)
    limit = OUTLIER_DEVIATIONS * MAD_SCALE * np.median(distance)
    return np.asarray(distance > max(limit, LEAST_RELATIVE_DISTANCE * abs(median)), dtype=np.bool_)


def spread_ratio(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    confidence: float = CONFIDENCE,
) -> Interval:
    """How many times as far the one scatters about its median as the other, with its interval.

    That is the median of the pairs' ratios of distances from each side's own median, on the log
    scale. What disturbs both halves of a pair moves both away and cancels. Of times of one
    distribution, whatever it is, scaled about their medians, it is the ratio of the scales.

    Parameters
    ----------
    numerator, denominator
        Shape (n,) each, n >= 1, positive; entry i of both is pair i. Windows of equal length, for
        a longer one averages more away.
    """
    distances = log_ratios(_distances(numerator), _distances(denominator))
    return locate(distances, 0.0).interval(confidence).map(math.exp)


def _distances(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each sample from the median, relative; at least what a clock's ticks hide."""
    logarithms = np.log(samples)
    least = max(LEAST_SPREAD, 0.5 * clock_grain(samples))
    return np.asarray(np.maximum(np.abs(logarithms - np.median(logarithms)), least), np.float64)
