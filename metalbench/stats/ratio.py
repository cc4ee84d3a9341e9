"""The ratio of two times that were taken in pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, Interval, median_interval


def ratio_interval(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Median ratio of pairs, with its interval.

    What slows both halves of a pair cancels in the pair's own ratio; on the log scale a ratio and
    its inverse are treated alike.

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
            f"ratio_interval: expected pairs, got {numerator.size} and {denominator.size} samples"
        )
    if not (np.all(numerator > 0) and np.all(denominator > 0)):
        raise ValueError("ratio_interval: expected positive times")
    logarithms = np.log(numerator) - np.log(denominator)
    return median_interval(logarithms, confidence).map(lambda value: float(np.exp(value)))
