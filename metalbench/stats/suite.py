"""The geometric mean of a suite's ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metalbench.stats.interval import Interval


def geometric_mean(ratios: Sequence[Interval]) -> Interval:
    """Return the geometric mean of ratios with the interval of its measurement error.

    The tasks are fixed, not a sample of all possible tasks: only the errors of measurement count.
    These are independent, so on the log scale the half-width of the mean is the root of the sum of
    squares of the half-widths, divided by their number. Lower and upper sides are separate, as
    intervals of ratios need not be symmetric.

    Parameters
    ----------
    ratios
        Positive ratios with bounded intervals of one confidence, at least one.

    Raises
    ------
    ValueError
        For no ratios, or a ratio that is not positive or not bounded.

    References
    ----------
    P. Fleming and J. Wallace, "How not to lie with statistics: the correct way to summarize
    benchmark results", CACM 29 (1986): the use of the geometric mean.
    """
    if not ratios:
        raise ValueError("geometric_mean: expected at least one ratio, got none")
    if any(not ratio.is_bounded or ratio.low <= 0 for ratio in ratios):
        raise ValueError("geometric_mean: expected positive ratios with bounded intervals")
    centre = sum(math.log(ratio.value) for ratio in ratios) / len(ratios)
    below = math.hypot(*(math.log(ratio.value / ratio.low) for ratio in ratios)) / len(ratios)
    above = math.hypot(*(math.log(ratio.high / ratio.value) for ratio in ratios)) / len(ratios)
    return Interval(math.exp(centre), math.exp(centre - below), math.exp(centre + above))
