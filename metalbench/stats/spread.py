"""Dispersion of a series of times."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.clock import clock_resolution
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.location import locate
from metalbench.stats.ratio import log_ratios

CENTRAL = 0.90
# Makes the median absolute deviation of a normal sample its standard deviation: 1 / Phi^-1(3/4).
MAD_SCALE = 1.4826
OUTLIER_DEVIATIONS = 5.0
# Coarse clock ticks can make most samples equal and their deviation 0.
LEAST_RELATIVE_DISTANCE = 0.01
# Smaller relative distances from the median are not distinguished.
LEAST_SPREAD = 0.001


def stability(samples: NDArray[np.float64]) -> float:
    """Return 1 - (half-width of the central 90 % of samples / median), clipped to 0..1.

    Parameters
    ----------
    samples
        Shape (n,), n >= 1, positive.
    """
    tail = (1.0 - CENTRAL) / 2.0
    low, median, high = np.quantile(samples, [tail, 0.5, 1.0 - tail])
    return float(np.clip(1.0 - (high - low) / (2.0 * median), 0.0, 1.0))


def find_outliers(samples: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which samples lie more than five scaled median absolute deviations from the median.

    Outliers are reported and kept: the median is robust against them.

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
    """Return the ratio of the dispersions of two series about their medians, with its interval.

    It is the median of the pairs' ratios of distances from each side's median, on the log scale. A
    disturbance of both halves of a pair increases both distances and cancels. For two scaled copies
    of any distribution it is the ratio of the scales.

    Parameters
    ----------
    numerator, denominator
        Shape (n,) each, n >= 1, positive; entry i of both is pair i. Windows must have equal
        length, because a longer window averages more noise away.
    """
    distances = log_ratios(_distances(numerator), _distances(denominator))
    return locate(distances, 0.0).interval(confidence).map(math.exp)


def _distances(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each sample's relative distance from the median, at least the clock resolution."""
    logarithms = np.log(samples)
    least = max(LEAST_SPREAD, 0.5 * clock_resolution(samples))
    return np.asarray(np.maximum(np.abs(logarithms - np.median(logarithms)), least), np.float64)
