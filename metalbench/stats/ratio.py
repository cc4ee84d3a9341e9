"""The ratio of two times that were taken in pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.clock import clock_grain
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.median import rank_interval


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
    logarithms = log_ratios(numerator, denominator)
    interval = rank_interval(logarithms, confidence)
    beyond = _hidden(numerator, denominator)
    if interval.bounded:
        interval = Interval(interval.value, interval.low - beyond, interval.high + beyond)
    return interval.map(math.exp)


def ratio_p_value(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], margin: float
) -> float:
    """Probability of ratios as far from ``1 +- margin`` if the true median lay within.

    Two-sided sign test at the effective number of pairs: below `1 - confidence` where the interval
    of that confidence lies outside of the margin, and 1 where the median lies within.

    References
    ----------
    W. J. Dixon and A. M. Mood, "The statistical sign test", JASA 41 (1946).
    """
    from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

    logarithms = log_ratios(numerator, denominator)
    beyond = _hidden(numerator, denominator)
    share = min(
        np.mean(logarithms - beyond <= math.log1p(margin)),
        np.mean(logarithms + beyond >= math.log1p(-margin)),
    )
    effective = math.floor(effective_count(logarithms))
    return float(min(1.0, 2.0 * bdtr(math.ceil(share * effective), effective, 0.5)))


def _hidden(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> float:
    """How far rounded times can move the logarithm of their ratio."""
    return 0.5 * (clock_grain(numerator) + clock_grain(denominator))
