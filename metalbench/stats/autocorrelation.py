"""Estimate the effective sample size of a correlated series.

Successive timings are correlated: clock rates drift and other programs come and go. An interval
that assumes independent samples is too narrow.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# Sokal's constant, 4 to 10: the window is the first lag of at least this many tau. In short series
# every further lag adds more noise than correlation.
WINDOW_FACTOR = 4.0
# Tau is raised by this many standard deviations of its estimate: an interval at half the true tau
# covers far too little, an interval at twice the true tau only needs more samples.
CAUTION = 1.0


def autocorrelation_time(samples: NDArray[np.float64]) -> float:
    """Return an upper estimate of the integrated autocorrelation time tau of the series' signs.

    The signs are those of the deviations from the median. The interval of a median depends on the
    number of samples below it, so the correlation of the signs matters, which outliers do not
    change. Subtracting the estimated median lowers the correlation by (2 w + 1) / n for a window of
    w lags; the estimate corrects this bias. The excess over 1 is then raised by its standard
    deviation, sqrt(2 (2 w + 1) / n) of itself, because a series of only a few tau underestimates
    tau. Independent samples give about 1.

    Parameters
    ----------
    samples
        Shape (n,), in the order of measurement.

    Returns
    -------
    float
        At least 1 (negative correlation is not counted); 1 for fewer than four samples.

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


# One analysis uses the same few series several times.
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


def effective_sample_size(samples: NDArray[np.float64]) -> float:
    """Return ``n / tau``, the number of independent samples with the same information."""
    return samples.size / autocorrelation_time(samples)


def _autocorrelation(centred: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the normalised autocorrelation at lags 0..n-1; None for a constant series."""
    count = centred.size
    # A power of two: the FFT of a length with large prime factors is slow.
    padded = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(centred, padded)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), padded)[:count]
    # Below this the series is constant except for rounding.
    if covariance[0] <= 1e-12 * count:
        return None
    return np.asarray(covariance / covariance[0], dtype=np.float64)
