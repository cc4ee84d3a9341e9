"""The mean of a few values in a row, by Student's t, wider for what neighbours share.

References
----------
Student, "The probable error of a mean", Biometrika 6 (1908).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# What widens an interval most, for the correlation of a few values can come near 1.
MOST_CORRELATED = 0.95


def deviation_of_mean(values: NDArray[np.float64]) -> float:
    """Standard deviation of the mean of at least two values in order.

    The correlation of k values about their own mean looks smaller than it is by about 1 / k.
    """
    count = values.size
    r = min(max(0.0, neighbours(values) + 1.0 / count), MOST_CORRELATED)
    spread = float(values.std(ddof=1)) / math.sqrt(count)
    return spread * math.sqrt((1.0 + r) / (1.0 - r))


def reach_of_mean(values: NDArray[np.float64], confidence: float) -> float:
    """How far the interval of the mean goes to both sides."""
    from scipy.special import stdtrit  # type: ignore[import-untyped,unused-ignore]

    return float(stdtrit(values.size - 1, 0.5 + confidence / 2.0)) * deviation_of_mean(values)


def neighbours(values: NDArray[np.float64]) -> float:
    """Correlation of neighbours, -1 to 1; 0 where all are equal."""
    centred = values - values.mean()
    square = float(np.sum(centred * centred))
    return float(np.sum(centred[1:] * centred[:-1])) / square if square > 0.0 else 0.0
