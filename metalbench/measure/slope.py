"""What a window costs beside its passes: windows of K passes against windows of four times K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats import median_interval

LONGER = 4
# Two lengths of window that differ by more tell different times.
AGREEMENT = 0.05


@dataclass(frozen=True, slots=True)
class Slope:
    """The straight line through the times of short and of long windows.

    `pass_ns` is its slope, the time of one more pass; `share` the part of a short window's time
    that does not grow with the passes; `deviation` how much longer a pass takes in short windows,
    and `least` how much longer for sure: by the near ends of both medians' intervals.
    """

    pass_ns: float
    share: float
    deviation: float
    least: float

    def doubt(self, whose: str) -> str | None:
        """What is to be said where a window's own cost counts, of the times of `whose`."""
        if self.least <= AGREEMENT:
            return None
        return (
            f"{100 * self.share:.0f} % of {whose} time is the fixed cost of a window, not of its "
            "passes: the launches are short; measure a larger size"
        )


def slope(
    short_ns: NDArray[np.float64], passes: int, long_ns: NDArray[np.float64], base: int
) -> Slope | None:
    """The slope from windows of `passes` to windows of 4 x `base`; None without long windows.

    Parameters
    ----------
    short_ns, long_ns
        Times per pass, shapes (n,) and (m,).
    passes, base
        Passes of a short window, and a quarter of those of a long one.
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
