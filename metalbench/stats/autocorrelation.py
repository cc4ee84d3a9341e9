"""How many independent samples a correlated series is worth.

Timings taken one after another resemble their neighbours: clocks drift, other programs come and
go. An interval that takes them for independent is too narrow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Sokal's constant: the window is the first lag that is at least this many times tau.
WINDOW_FACTOR = 5.0


def autocorrelation_time(samples: NDArray[np.float64]) -> float:
    """Integrated autocorrelation time tau of the series' signs about its median.

    The interval of a median depends on how many samples lie below it, so what matters is the
    correlation of the signs, which no outlier can upset.

    Parameters
    ----------
    samples
        Shape (n,), in the order in which they were taken.

    Returns
    -------
    float
        At least 1 (a series that alternates earns no credit); 1 for fewer than four samples.

    References
    ----------
    A. Sokal, "Monte Carlo methods in statistical mechanics: foundations and new algorithms"
    (1997), section 3: the automatic window.
    """
    count = samples.size
    if count < 4:
        return 1.0
    signs = np.sign(samples - np.median(samples))
    correlation = _autocorrelation(signs - signs.mean())
    if correlation is None:
        return 1.0
    tau = 2.0 * np.cumsum(correlation) - 1.0
    lags = np.arange(count)
    inside = np.flatnonzero(lags >= WINDOW_FACTOR * tau)
    window = int(inside[0]) if inside.size else count - 1
    return float(min(max(tau[window], 1.0), count))


def effective_count(samples: NDArray[np.float64]) -> float:
    """``n / tau``: the number of independent samples that would say as much."""
    return samples.size / autocorrelation_time(samples)


def _autocorrelation(centred: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Normalised autocorrelation at lags 0..n-1, or None for a constant series."""
    count = centred.size
    spectrum = np.fft.rfft(centred, 2 * count)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), 2 * count)[:count]
    # Below this the series is constant but for rounding.
    if covariance[0] <= 1e-12 * count:
        return None
    return np.asarray(covariance / covariance[0], dtype=np.float64)
