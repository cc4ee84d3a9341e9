"""The ratio of two times that were taken in pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.clock import clock_grain
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.location import Blocks, Ranks, locate


def log_ratios(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logarithm of each pair's ratio, shape (n,).

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
    """Median ratio of pairs, with its interval; arguments and errors are those of `log_ratios`.

    What slows both halves of a pair cancels in the pair's own ratio; on the log scale a ratio and
    its inverse are treated alike. What the clocks' ticks hide of both times widens the interval.
    """
    return _location(numerator, denominator).interval(confidence).map(math.exp)


def ratio_p_value(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], margin: float
) -> float:
    """Probability of ratios as far from ``1 +- margin`` if the true median lay within.

    Of the same method as the interval: at most `1 - confidence` where the interval of that
    confidence lies outside of the margin, and 1 where the median lies within.
    """
    return _location(numerator, denominator).p_value(math.log1p(-margin), math.log1p(margin))


def _location(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> Ranks | Blocks:
    beyond = 0.5 * (clock_grain(numerator) + clock_grain(denominator))
    return locate(log_ratios(numerator, denominator), beyond)
