"""How many independent samples a correlated series is worth.

Timings taken one after another resemble their neighbours: clocks drift, other programs come and
go. An interval that takes them for independent is too narrow.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# Sokal's constant, 4 to 10: the window is the first lag that is at least this many times tau. In
# short series every further lag adds more noise than correlation.
WINDOW_FACTOR = 4.0
# Tau is taken this many of its own standard deviations above its estimate: an interval at half
# the true tau covers far too little, one at twice the true tau merely takes longer to narrow.
CAUTION = 1.0


def autocorrelation_time(samples: NDArray[np.float64]) -> float:
    """Integrated autocorrelation time tau of the series' signs about its median, from above.

    The interval of a median depends on how many samples lie below it, so what matters is the
    correlation of the signs, which no outlier can upset. Subtracting the series' own median makes
    it look less correlated than it is, by a part (2 w + 1) / n for a window of w lags; this is
    made good. What then exceeds 1 is raised by its standard deviation,
    sqrt(2 (2 w + 1) / n) of itself: a series no longer than a few tau shows less of it than there
    is. Independent samples stay near 1.

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
    (1997), section 3: the automatic window. N. Madras and A. Sokal, J. Stat. Phys. 50 (1988),
    appendix C: the error of tau. U. Wolff, Comput. Phys. Commun. 156 (2004), section 3.2: its bias.
    """
    if samples.size < 4:
        return 1.0
    signs = np.sign(samples - np.median(samples)).astype(np.int8)
    return _autocorrelation_time(signs.tobytes())


# One look asks for the same few series again and again.
@lru_cache(maxsize=16)
def _autocorrelation_time(signs_of_samples: bytes) -> float:
    signs = np.frombuffer(signs_of_samples, np.int8).astype(np.float64)
    count = signs.size
    correlation = _autocorrelation(signs - signs.mean())
    if correlation is None:
        return 1.0
    tau = 2.0 * np.cumsum(correlation) - 1.0
    inside = np.flatnonzero(np.arange(count) >= WINDOW_FACTOR * tau)
    window = int(inside[0]) if inside.size else count - 1
    part = (2 * window + 1) / count
    excess = max(tau[window] * (1.0 + part) - 1.0, 0.0)
    return float(min(1.0 + excess * (1.0 + CAUTION * np.sqrt(2.0 * part)), count))


def effective_count(samples: NDArray[np.float64]) -> float:
    """``n / tau``: the number of independent samples that would say as much."""
    return samples.size / autocorrelation_time(samples)


def _autocorrelation(centred: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Normalised autocorrelation at lags 0..n-1, or None for a constant series."""
    count = centred.size
    # A power of two, for the transform of a length with large prime factors is slow.
    padded = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(centred, padded)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), padded)[:count]
    # Below this the series is constant but for rounding.
    if covariance[0] <= 1e-12 * count:
        return None
    return np.asarray(covariance / covariance[0], dtype=np.float64)
