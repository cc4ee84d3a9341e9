"""When enough has been measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.judgement import Judgement
from metalbench.stats.median import median_interval
from metalbench.stats.verdict import Verdict, judge

# One precise look may be luck.
LOOKS_RUNNING = 2
# From one look to the next a series grows by half: so few looks that what is spent on them, in time
# and in chances to be wrong, hardly grows with the series.
GROWTH = 1.5
# A verdict that ends the sampling has to hold at this confidence, so that all looks together have
# no more chance to be wrong than the last one of a fixed number of samples.
EARLY_CONFIDENCE = 0.999
# With fewer independent pairs the noise of their correlation chooses the moment.
LEAST_EFFECTIVE = 30.0


@dataclass
class StoppingRule:
    """Looks at a growing series, at 128, 192, 288, 448, ... samples, until it is known well enough.

    Of a slow kernel, whose looks have fewer pairs, at 4, 6, 9, 14, ... looks likewise.

    It is if the verdict is settled and the time known to a few per cent, or half of what it may
    cost spent: the other half would make its interval narrower by a third at best. Or, whatever the
    verdict, if every series is precise on two looks running: its median's interval is narrow and
    the samples are worth enough independent ones.

    Attributes
    ----------
    first_look
        Samples at the first look.
    half_width
        Of the intervals, relative, that is narrow enough.
    min_effective
        Independent samples (n / tau) that are enough.
    settled_half_width
        Of the interval of the time alone, relative, that is narrow enough for a settled verdict.
    step
        Looks are at multiples of so many samples.
    settled
        Whether the last look found the verdict settled, and the time known or the rest too dear.

    References
    ----------
    J. L. Haybittle, Brit. J. Radiology 44 (1971); R. Peto et al., Brit. J. Cancer 34 (1976): looks
    before the last at a confidence of 99.9 % leave the last one's error as it is.
    """

    first_look: int = 128
    half_width: float = 0.005
    min_effective: float = 100.0
    settled_half_width: float = 0.02
    step: int = 32
    running: int = 0
    settled: bool = False

    def next_look(self, taken: int) -> int:
        """How many samples the first look after `taken` ones wants in all."""
        wanted = self.first_look
        while wanted <= taken:
            wanted = self.step * max(
                math.ceil(GROWTH * wanted / self.step), wanted // self.step + 1
            )
        return wanted

    def look(
        self, *series: NDArray[np.float64], judgement: Judgement | None = None, late: bool = False
    ) -> bool:
        """Look at all samples taken so far, and say whether they are enough.

        Parameters
        ----------
        series
            Times, or ratios of times, shape (n,) each; the candidate's times first.
        judgement
            Of the ratios; without it there is no verdict that could be settled.
        late
            Whether a settled verdict is now enough, however the time scatters.
        """
        precise = all(map(self._precise, series))
        self.running = self.running + 1 if precise else 0
        self.settled = (
            judgement is not None and settled(judgement) and (late or self._known(series[0]))
        )
        return self.settled or self.running >= LOOKS_RUNNING

    def _known(self, times: NDArray[np.float64]) -> bool:
        return median_interval(times).relative_half_width <= self.settled_half_width

    def _precise(self, values: NDArray[np.float64]) -> bool:
        return (
            effective_count(values) >= self.min_effective
            and median_interval(values).relative_half_width <= self.half_width
        )


def settled(judgement: Judgement) -> bool:
    """Whether a verdict holds at the confidence of a look that ends the sampling.

    SAME of few blocks or of looks with levels never does: their interval has too few values.
    """
    if judgement.effective_pairs < LEAST_EFFECTIVE:
        return False
    if judgement.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return judgement.p_value <= 1.0 - EARLY_CONFIDENCE
    by_ranks = judgement.blocks is None and judgement.levels is None
    return judgement.verdict is Verdict.SAME and by_ranks and _is_same(judgement.ratio)


def _is_same(ratio: Interval) -> bool:
    """Whether the interval is within the margin at `EARLY_CONFIDENCE`, scaled as a normal one."""
    from scipy.special import ndtri  # type: ignore[import-untyped,unused-ignore]

    early, usual = (float(ndtri(0.5 + each / 2.0)) for each in (EARLY_CONFIDENCE, CONFIDENCE))
    low, high = (
        ratio.value * (end / ratio.value) ** (early / usual) for end in (ratio.low, ratio.high)
    )
    return judge(Interval(ratio.value, low, high)) is Verdict.SAME
