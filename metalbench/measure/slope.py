"""Estimate the fixed cost of a window, from windows of K passes and of four times K passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats import median_interval

LONGER = 4
# Largest difference between the times of a pass in short and in long windows.
AGREEMENT = 0.05


@dataclass(frozen=True, slots=True)
class Slope:
    """The straight line through the times of short and of long windows.

    `pass_ns` is the slope: the time of one more pass. `share` is the fixed part of a short window's
    time. `deviation` is the relative difference of a pass in short and in long windows, and `least`
    its lower bound, by the near ends of both medians' intervals.
    """

    pass_ns: float
    share: float
    deviation: float
    least: float

    def doubt(self, whose: str) -> str | None:
        """Return a warning about `whose` times if the fixed cost of a window matters; else None."""
        if self.least <= AGREEMENT:
            return None
        return (
            f"{100 * self.share:.0f} % of {whose} time is the fixed cost of a window, not of its "
            "passes: the launches are short; measure a larger size"
        )


def estimate_slope(
    short_ns: NDArray[np.float64], passes: int, long_ns: NDArray[np.float64], base: int
) -> Slope | None:
    """Return the slope from windows of `passes` to windows of 4 x `base`; None without long ones.

    Parameters
    ----------
    short_ns, long_ns
        Times per pass, shapes (n,) and (m,).
    passes, base
        Passes of a short window, and a quarter of the passes of a long one.
    """
    if not short_ns.size or not long_ns.size:
        return None
    shorter, longer = median_interval(short_ns), median_interval(long_ns)
    short, long = shorter.value, longer.value
    more = LONGER * base
    fixed = (short - long) / (1 / passes - 1 / more)
    least = shorter.low / longer.high - 1 if shorter.is_bounded and longer.is_bounded else 0.0
    return Slope(
        pass_ns=long - fixed / more,
        share=max(0.0, fixed / passes / short),
        deviation=short / long - 1,
        least=least,
    )
