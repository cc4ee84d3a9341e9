"""When enough has been measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import effective_count
from metalbench.stats.median import median_interval

# One precise look may be luck.
LOOKS_RUNNING = 2


@dataclass
class StoppingRule:
    """Looks at a growing series, at 64, 128, 256, ... samples, until it is known well enough.

    Looking after every sample would stop at lucky moments; looks that double the series see nearly
    independent halves of it. A look is precise if of every series looked at the median's interval
    is narrow and the samples are worth enough independent ones.

    Attributes
    ----------
    first_look
        Samples at the first look.
    half_width
        Of the intervals, relative, that is narrow enough.
    min_effective
        Independent samples (n / tau) that are enough.
    """

    first_look: int = 64
    half_width: float = 0.005
    min_effective: float = 100.0
    running: int = 0

    def next_look(self, taken: int) -> int:
        """How many samples the first look after `taken` ones wants in all."""
        wanted = self.first_look
        while wanted <= taken:
            wanted *= 2
        return wanted

    def look(self, *series: NDArray[np.float64]) -> bool:
        """Look at all samples taken so far, and say whether they are enough.

        Parameters
        ----------
        series
            Times, or ratios of times, shape (n,) each.
        """
        precise = all(map(self._precise, series))
        self.running = self.running + 1 if precise else 0
        return self.running >= LOOKS_RUNNING

    def _precise(self, values: NDArray[np.float64]) -> bool:
        return (
            effective_count(values) >= self.min_effective
            and median_interval(values).relative_half_width <= self.half_width
        )
