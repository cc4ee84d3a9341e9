"""The ratio of two times that were measured in pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.clock import clock_resolution
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.location import BlockLocation, RankLocation, locate


def log_ratios(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the logarithm of each pair's ratio, shape (n,).

    Parameters
    ----------
    numerator, denominator
        Shape (n,) each, positive, in the same unit; entry i of both is pair i.

    Raises
    ------
    ValueError
        If the lengths differ or a time is not positive.
    """
    if numerator.shape != denominator.shape:
        raise ValueError(
            f"log_ratios: expected pairs, got {numerator.size} and {denominator.size} samples"
        )
    if not (np.all(numerator > 0) and np.all(denominator > 0)):
        raise ValueError("log_ratios: expected positive times")
    return np.asarray(np.log(numerator) - np.log(denominator), dtype=np.float64)


def ratio_interval(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the median ratio of pairs with its interval; arguments and errors as of `log_ratios`.

    A disturbance of both halves of a pair cancels in the pair's ratio. The log scale treats a ratio
    and its inverse alike. The resolution of both clocks widens the interval.
    """
    return _location(numerator, denominator).interval(confidence).map(math.exp)


def ratio_p_value(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], margin: float
) -> float:
    """Return the p-value of a median ratio outside of ``1 +- margin``.

    The method is that of the interval: at most `1 - confidence` if the interval of that confidence
    lies outside of the margin, and 1 if the median lies within.
    """
    return _location(numerator, denominator).p_value(math.log1p(-margin), math.log1p(margin))


def _location(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> RankLocation | BlockLocation:
    beyond = 0.5 * (clock_resolution(numerator) + clock_resolution(denominator))
    return locate(log_ratios(numerator, denominator), beyond)
