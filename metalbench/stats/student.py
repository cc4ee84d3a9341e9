"""The mean of a few values in order, by Student's t, widened for autocorrelation.

References
----------
Student, "The probable error of a mean", Biometrika 6 (1908).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Upper limit of the correlation: that of a few values can come near 1.
MOST_CORRELATED = 0.95


def standard_error_of_mean(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of at least two values in order.

    The lag-1 autocorrelation r of k values about their mean is biased by about -1 / k, which is
    corrected. The error is multiplied by sqrt((1 + r) / (1 - r)), as of an AR(1) process.
    """
    count = values.size
    r = min(max(0.0, lag1_autocorrelation(values) + 1.0 / count), MOST_CORRELATED)
    spread = float(values.std(ddof=1)) / math.sqrt(count)
    return spread * math.sqrt((1.0 + r) / (1.0 - r))


def half_width_of_mean(values: NDArray[np.float64], confidence: float) -> float:
    """Return the half-width of the mean's t-interval."""
    from scipy.special import stdtrit  # type: ignore[import-untyped,unused-ignore]

    return float(stdtrit(values.size - 1, 0.5 + confidence / 2.0)) * standard_error_of_mean(values)


def lag1_autocorrelation(values: NDArray[np.float64]) -> float:
    """Return the lag-1 autocorrelation, -1 to 1; 0 if all values are equal."""
    centred = values - values.mean()
    square = float(np.sum(centred * centred))
    return float(np.sum(centred[1:] * centred[:-1])) / square if square > 0.0 else 0.0
