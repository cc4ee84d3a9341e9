"""Decide when a series of pairs is long enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, Interval, Verdict, judge
from metalbench.stats.judgement import Judgement
from metalbench.stats.location import LARGE_EFFECT, median_interval
from metalbench.stats.series import effective_sample_size, medians_of_eight_blocks

# A single precise analysis may be chance.
PRECISE_ANALYSES = 2
# The series grows by half between analyses: few enough that their cost, in time and in the chance
# of an error, hardly grows with the series.
GROWTH = 1.5
# A verdict that ends the sampling must hold at this confidence, so that all analyses together have
# the error rate of one analysis of a fixed number of samples (Haybittle-Peto boundary).
EARLY_CONFIDENCE = 0.999
# With a smaller effective sample size correlated noise decides when sampling stops.
LEAST_EFFECTIVE = 30.0
# From this number of pairs a smaller effect of the same sign in each of eight blocks is large. In
# simulations of strongly correlated pairs, chance gives as few such effects as with 64 pairs and an
# effect of 1.25.
MANY_PAIRS = 24
LARGE_EFFECT_OF_BLOCKS = 1.4


@dataclass
class StoppingRule:
    """Interim analyses of a growing series, at 128, 192, 288, ... samples, until it is precise.

    For a slow kernel, whose batches have fewer pairs, the analyses are at 4, 6, 9, 14, ... batches.

    Sampling stops in two cases. First, the verdict is settled, and either the time is known to a
    few per cent or enough of the allowed time is spent. Then the verdict also counts as settled if
    in every pair the same side takes three times as long, or 1.4 times in each of eight blocks of
    many pairs: correlated pairs may be too few for the size of such an effect, but not for its
    sign. Second, whatever the verdict, every series is precise in two analyses in a row: the
    interval of its median is narrow and its effective sample size is large.

    Attributes
    ----------
    first_analysis
        Samples at the first analysis.
    half_width
        Relative half-width of an interval that is narrow enough.
    min_effective
        Effective sample size (n / tau) that is large enough.
    settled_half_width
        Relative half-width of the time's interval that is narrow enough for a settled verdict.
    step
        Analyses are at multiples of this number of samples.
    settled
        Whether the last analysis found the verdict settled, with the time known or enough time
        spent.

    References
    ----------
    J. L. Haybittle, Brit. J. Radiology 44 (1971); R. Peto et al., Brit. J. Cancer 34 (1976):
    interim analyses at a confidence of 99.9 % leave the error of the last analysis unchanged.
    """

    first_analysis: int = 128
    half_width: float = 0.005
    min_effective: float = 100.0
    settled_half_width: float = 0.02
    step: int = 32
    running: int = 0
    settled: bool = False

    def next_analysis(self, taken: int) -> int:
        """Return the number of samples at the first analysis after `taken` samples."""
        wanted = self.first_analysis
        while wanted <= taken:
            wanted = self.step * max(
                math.ceil(GROWTH * wanted / self.step), wanted // self.step + 1
            )
        return wanted

    def analyse(
        self, *series: NDArray[np.float64], judgement: Judgement | None = None, late: bool = False
    ) -> bool:
        """Analyse all samples so far, and return whether they are enough.

        Parameters
        ----------
        series
            Times, or ratios of times, shape (n,) each; the candidate's times first.
        judgement
            Of the ratios; without it no verdict can be settled.
        late
            Whether a settled verdict suffices, however the time scatters.
        """
        precise = all(map(self._is_precise, series))
        self.running = self.running + 1 if precise else 0
        self.settled = judgement is not None and (
            (is_settled(judgement) and (late or self._is_known(series[0])))
            or (late and is_settled(judgement, all_large=_are_all_large(series[1])))
        )
        return self.settled or self.running >= PRECISE_ANALYSES

    def _is_known(self, times: NDArray[np.float64]) -> bool:
        return median_interval(times).relative_half_width <= self.settled_half_width

    def _is_precise(self, values: NDArray[np.float64]) -> bool:
        return (
            effective_sample_size(values) >= self.min_effective
            and median_interval(values).relative_half_width <= self.half_width
        )


def is_settled(judgement: Judgement, *, all_large: bool = False) -> bool:
    """Return whether a verdict holds at the confidence of an analysis that ends the sampling.

    SAME never does if few blocks or batches decided: their interval has too few values. With
    `all_large`, a large effect of the same sign in every pair, a small effective sample size
    suffices.
    """
    if judgement.effective_pairs < LEAST_EFFECTIVE and not all_large:
        return False
    if judgement.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return judgement.p_value <= 1.0 - EARLY_CONFIDENCE
    by_ranks = judgement.blocks is None and judgement.batch_spread is None
    return judgement.verdict is Verdict.SAME and by_ranks and _is_same(judgement.ratio)


def _are_all_large(ratios: NDArray[np.float64]) -> bool:
    if ratios.min() >= LARGE_EFFECT or ratios.max() <= 1.0 / LARGE_EFFECT:
        return True
    if ratios.size < MANY_PAIRS:
        return False
    blocks = np.exp(medians_of_eight_blocks(np.log(ratios)))
    return bool(
        blocks.min() >= LARGE_EFFECT_OF_BLOCKS or blocks.max() <= 1 / LARGE_EFFECT_OF_BLOCKS
    )


def _is_same(ratio: Interval) -> bool:
    """Return whether the interval, scaled to `EARLY_CONFIDENCE`, lies within the margin."""
    from scipy.special import ndtri  # type: ignore[import-untyped,unused-ignore]

    early, usual = (float(ndtri(0.5 + each / 2.0)) for each in (EARLY_CONFIDENCE, CONFIDENCE))
    low, high = (
        ratio.value * (end / ratio.value) ** (early / usual) for end in (ratio.low, ratio.high)
    )
    return judge(Interval(ratio.value, low, high)) is Verdict.SAME
