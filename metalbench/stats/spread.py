"""How steady a series of times is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CENTRAL = 0.90
# Makes the median absolute deviation of a normal sample its standard deviation: 1 / Phi^-1(3/4).
MAD_SCALE = 1.4826
OUTLIER_DEVIATIONS = 5.0
# A clock's ticks can make most samples equal and their deviation nought.
LEAST_RELATIVE_DISTANCE = 0.01


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
