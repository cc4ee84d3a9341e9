"""One number for many tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metalbench.stats.interval import Interval


def geometric_mean(ratios: Sequence[Interval]) -> Interval:
    """Geometric mean of ratios, with the interval that their measurement errors leave.

    The tasks are taken as they are, not as a draw from all possible tasks: only the errors of
    their measurement count. These are independent, so on the log scale the mean's half-width is
    the root of the sum of squares of the ratios' half-widths, divided by their number; each side of
    the interval for itself, as ratios need not be symmetric.

    Parameters
    ----------
    ratios
        Positive ratios with bounded intervals of one confidence, at least one.

    Raises
    ------
    ValueError
        For no ratios, or one that is not positive or not bounded.

    References
    ----------
    P. Fleming and J. Wallace, "How not to lie with statistics: the correct way to summarize
    benchmark results", CACM 29 (1986): why geometric.
    """
    if not ratios:
        raise ValueError("geometric_mean: expected at least one ratio, got none")
    if any(not ratio.bounded or ratio.low <= 0 for ratio in ratios):
        raise ValueError("geometric_mean: expected positive ratios with bounded intervals")
    centre = sum(math.log(ratio.value) for ratio in ratios) / len(ratios)
    below = math.hypot(*(math.log(ratio.value / ratio.low) for ratio in ratios)) / len(ratios)
    above = math.hypot(*(math.log(ratio.high / ratio.value) for ratio in ratios)) / len(ratios)
    return Interval(math.exp(centre), math.exp(centre - below), math.exp(centre + above))
