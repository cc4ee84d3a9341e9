"""Estimate the effective sample size of a correlated series.

Successive timings are correlated: clock rates drift and other programs come and go. An interval
that assumes independent samples is too narrow.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, Interval

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


# Medians of contiguous blocks: few, nearly independent values in place of a correlated series.

# Fewer blocks show no trend and no sign; more only cost time.
FEWEST_BLOCKS = 8
MOST_BLOCKS = 64
# Tau exceeds 1 by the correlation on both sides of a sample; at twice that distance hardly any is
# left.
BLOCK_TAUS = 2.0


def block_length(count: int, tau: float) -> int | None:
    """Return the block length for `count` samples; None if fewer than eight blocks would fit."""
    length = max(1, math.ceil(count / MOST_BLOCKS), math.ceil(BLOCK_TAUS * (tau - 1.0)))
    return length if count // length >= FEWEST_BLOCKS else None


@dataclass(frozen=True, slots=True)
class BlockRange(Interval):
    """The median of a series with the lowest and the highest block median.

    It describes the range of the series. It is not a confidence interval.
    """

    @classmethod
    def of(cls, value: float, medians: NDArray[np.float64]) -> BlockRange:
        """Return the range of block medians, extended to `value` if that lies outside."""
        return cls(value, min(float(medians.min()), value), max(float(medians.max()), value))


def medians_of_eight_blocks(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the medians of eight contiguous blocks of equal length, to within one sample.

    Used for series that are too short or too correlated for `block_length`. Needs eight samples.
    """
    blocks = np.array_split(samples, FEWEST_BLOCKS)
    return np.array([np.median(block) for block in blocks], dtype=np.float64)


def block_medians(samples: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the median of each block of `length` samples in order.

    The samples that fill no block are dropped at the start, where a series is the least settled.
    """
    blocks = samples.size // length
    tail = samples[samples.size - blocks * length :]
    return np.asarray(np.median(tail.reshape(blocks, length), axis=1), dtype=np.float64)


# Resolution of a clock that advances in coarse ticks.

# A value counts as a tick if this share of the samples has it. If no value is as frequent, noise
# spreads the samples over many ticks, and their median is not affected.
LEVEL_SHARE = 0.05
# Times that differ by less are equal: the rounding of a difference of two float64 stamps in
# seconds.
SAME_LEVEL = 1e-7
# A sample spans 1000 ticks or more, so a larger distance of levels is not that of ticks.
COARSEST = 0.01


def clock_resolution(samples: NDArray[np.float64]) -> float:
    """Return the relative distance of neighbouring clock values; 0 if no ticks are visible.

    A time between two ticks is read as one of the two. If nearly all samples have the same value,
    the median is off by up to half of this distance, and more samples do not help.

    Parameters
    ----------
    samples
        Shape (n,), positive, in any unit of time.
    """
    if samples.size < 2:
        return 0.0
    ordered = np.sort(samples)
    median = float(ordered[ordered.size // 2])
    steps = np.flatnonzero(np.diff(ordered) > SAME_LEVEL * median)
    ends = np.append(steps, ordered.size - 1)
    frequent = np.diff(ends, prepend=-1) >= max(2.0, LEVEL_SHARE * ordered.size)
    gaps = np.diff(ordered[ends[frequent]]) / median
    gaps = gaps[gaps <= COARSEST]
    return float(gaps.min()) if gaps.size else 0.0


# Find a monotone trend in a series of times.

# A trend with a larger p-value is not reported.
DRIFT_SIGNIFICANCE = 0.01


@dataclass(frozen=True, slots=True)
class Drift:
    """The trend of a series.

    `per_sample` is the relative change from one sample to the next, with its interval. `tau` is
    Kendall's rank correlation with time, `p_value` its two-sided significance.
    """

    per_sample: Interval
    tau: float
    p_value: float
    samples: int

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below `SIGNIFICANCE`."""
        return self.p_value < DRIFT_SIGNIFICANCE

    @property
    def total(self) -> float:
        """Relative change over the whole series."""
        return math.expm1(self.per_sample.value * self.samples)


def find_drift(logarithms: NDArray[np.float64], confidence: float = CONFIDENCE) -> Drift | None:
    """Return the trend of a series' block medians; None if it is too short or too correlated.

    The length of the blocks follows from the autocorrelation of the residuals. The trend itself
    would count as autocorrelation.

    Parameters
    ----------
    logarithms
        Natural logarithms of times or of ratios, shape (n,), in order.
    confidence
        Of the interval of the slope.

    References
    ----------
    M. Kendall, "A new measure of rank correlation", Biometrika 30 (1938); H. Theil (1950);
    P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
    """
    count = logarithms.size
    if (first := block_length(count, 1.0)) is None:
        return None
    slope = float(np.median(_slopes(block_medians(logarithms, first)))) / first
    residuals = logarithms - slope * np.arange(count)
    length = block_length(count, autocorrelation_time(residuals))
    if length is None:
        return None
    medians = block_medians(logarithms, length)
    return estimate_trend(medians, length, count, confidence)


def estimate_trend(
    medians: NDArray[np.float64], length: float, samples: int, confidence: float = CONFIDENCE
) -> Drift:
    """Return the trend of independent medians of blocks of `length`, of `samples` in all."""
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    slopes = np.sort(_slopes(medians))
    score = float(np.sign(slopes).sum())
    deviation = math.sqrt(_score_variance(medians))
    # Continuity correction: the score takes only every other integer.
    z = max(abs(score) - 1.0, 0.0) / deviation if deviation else 0.0
    reach = float(ndtri(0.5 + confidence / 2.0)) * deviation
    low = max(math.floor((slopes.size - reach) / 2.0), 0)
    value = float(np.median(slopes))
    per_sample = Interval(
        value / length, float(slopes[low]) / length, float(slopes[-1 - low]) / length
    )
    return Drift(per_sample, score / slopes.size, 2.0 * float(ndtr(-z)), samples)


def _slopes(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes through all pairs of at most 128 equidistant points (Theil and Sen)."""
    first, second = np.triu_indices(min(medians.size, 2 * MOST_BLOCKS), 1)
    return np.asarray((medians[second] - medians[first]) / (second - first), dtype=np.float64)


def _score_variance(medians: NDArray[np.float64]) -> float:
    """Return the variance of Kendall's score of independent values, corrected for ties."""
    ties = np.unique(medians, return_counts=True)[1].astype(float)
    count = float(medians.size)

    def pairs(n: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
        return n * (n - 1.0) * (2.0 * n + 5.0)

    return float(pairs(count) - np.sum(pairs(ties))) / 18.0


# Find several modes in a series of times.

# Rarer values are outliers; nearer values need not be distinguished.
LEAST_SHARE = 0.10
LEAST_SEPARATION = 0.01
# Two peaks are two modes if the density between them falls below this share of the lower peak, ...
DEEPEST_VALLEY = 0.5
# ... and such a gap in one mode has a smaller p-value than this.
MODES_SIGNIFICANCE = 0.001
# The outermost samples extend the range of the density but do not matter for its peaks.
TRIMMED = 0.005
BINS_PER_BANDWIDTH = 4
MOST_BINS = 8192


@dataclass(frozen=True, slots=True)
class DistributionMode:
    """A mode: the median of the samples around it, and their share of all samples."""

    value: float
    share: float


def find_modes(
    logarithms: NDArray[np.float64], resolution: float = 0.0
) -> tuple[DistributionMode, ...]:
    """Return the modes of a series, from the lowest to the highest; usually one.

    Parameters
    ----------
    logarithms
        Natural logarithms of times or ratios, shape (n,), n >= 1, in the order of measurement. A
        series that wanders looks multimodal, so its autocorrelation reduces the effective size.
    resolution
        Distance between the values of the clock, also as a logarithm. Peaks at its ticks are not
        modes.

    References
    ----------
    B. W. Silverman, "Density Estimation for Statistics and Data Analysis" (1986), section 3.4.2:
    the bandwidth; J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Ann. Statist.
    13 (1985): a gap between peaks, not the peaks, is the evidence for two modes.
    """
    tau = autocorrelation_time(logarithms)
    density = _Density.of(logarithms, logarithms.size / tau, resolution)
    edges = [density.at(valley) for valley in density.valleys(tau)]
    parts = np.split(np.sort(logarithms), np.searchsorted(np.sort(logarithms), edges))
    return tuple(
        DistributionMode(float(np.median(part)), part.size / logarithms.size) for part in parts
    )


@dataclass(frozen=True, slots=True)
class _Density:
    """A histogram and its kernel density estimate, in samples per bin."""

    first: float
    step: float
    counts: NDArray[np.float64]
    smooth: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64], effective: float, resolution: float) -> _Density:
        trimmed = np.quantile(values, [TRIMMED, 0.25, 0.75, 1.0 - TRIMMED])
        first, lower, upper, last = (float(value) for value in trimmed)
        spread = min(float(values.std()), (upper - lower) / 1.34)
        bandwidth = max(0.9 * spread * effective**-0.2, resolution, LEAST_SEPARATION / 6.0)
        step = max(bandwidth / BINS_PER_BANDWIDTH, (last - first) / MOST_BINS)
        margin = 4 * BINS_PER_BANDWIDTH
        bins = int((last - first) / step) + 1
        place = np.rint((values[(values >= first) & (values <= last)] - first) / step)
        counts = np.bincount(place.astype(int) + margin, minlength=bins + 2 * margin)
        reach = np.arange(-margin, margin + 1) / BINS_PER_BANDWIDTH
        smooth = np.convolve(counts, np.exp(-0.5 * reach**2), mode="same")
        return cls(first - margin * step, step, counts.astype(np.float64), smooth)

    def at(self, place: int) -> float:
        return self.first + place * self.step

    def valleys(self, tau: float) -> list[int]:
        """Return the minima between accepted peaks, without peaks that are not separate."""
        rising = np.diff(self.smooth) > 0.0
        peaks = [int(peak) for peak in np.flatnonzero(rising[:-1] & ~rising[1:]) + 1]
        while len(peaks) > 1:
            valleys = [
                left + int(np.argmin(self.smooth[left : right + 1]))
                for left, right in itertools.pairwise(peaks)
            ]
            lower = self._weakest(peaks, valleys, tau)
            if lower is None:
                return valleys
            del peaks[lower]
        return []

    def _weakest(self, peaks: list[int], valleys: list[int], tau: float) -> int | None:
        """Return the index of the lowest peak that is not a separate mode; None if all are."""
        shares = [part.sum() / self.counts.sum() for part in np.split(self.counts, valleys)]
        for index in sorted(range(len(peaks)), key=lambda index: self.smooth[peaks[index]]):
            if shares[index] < LEAST_SHARE:
                return index
            for side in (index - 1, index):
                if 0 <= side < len(valleys) and self._shallow(peaks, valleys, index, side, tau):
                    return index
        return None

    def _shallow(
        self, peaks: list[int], valleys: list[int], index: int, side: int, tau: float
    ) -> bool:
        """Return whether a peak is not separated from the peak on the other side of a valley."""
        from scipy.special import bdtr  # type: ignore[import-untyped,unused-ignore]

        other = peaks[side if side < index else side + 1]
        peak, valley = peaks[index], valleys[side]
        if self.smooth[other] < self.smooth[peak]:
            return False
        if abs(peak - other) * self.step < LEAST_SEPARATION:
            return True
        if self.smooth[valley] > DEEPEST_VALLEY * self.smooth[peak]:
            return True
        between, about = self._near(valley) / tau, self._near(peak) / tau
        return bool(bdtr(int(between), int(between + about), 0.5) > MODES_SIGNIFICANCE)

    def _near(self, place: int) -> float:
        """Return the number of samples within one bandwidth."""
        near = slice(max(place - BINS_PER_BANDWIDTH, 0), place + BINS_PER_BANDWIDTH + 1)
        return float(self.counts[near].sum())
