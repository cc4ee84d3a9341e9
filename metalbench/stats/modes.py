"""Find several modes in a series of times."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import autocorrelation_time

# Rarer values are outliers; nearer values need not be distinguished.
LEAST_SHARE = 0.10
LEAST_SEPARATION = 0.01
# Two peaks are two modes if the density between them falls below this share of the lower peak, ...
DEEPEST_VALLEY = 0.5
# ... and such a gap in one mode has a smaller p-value than this.
SIGNIFICANCE = 0.001
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
        return bool(bdtr(int(between), int(between + about), 0.5) > SIGNIFICANCE)

    def _near(self, place: int) -> float:
        """Return the number of samples within one bandwidth."""
        near = slice(max(place - BINS_PER_BANDWIDTH, 0), place + BINS_PER_BANDWIDTH + 1)
        return float(self.counts[near].sum())
