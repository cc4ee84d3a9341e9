"""Whether a ratio has another level in every look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.drift import SIGNIFICANCE

# A look that is cut short, to less than this part of the usual length, joins the one before.
SHORTEST = 0.5
# More would be too short for correlated pairs, fewer find less. Simulated: looks of 32 pairs with
# an AR(1) noise of each side have 1 % false at rho = 0, 2 % at 0.5, 5 % at 0.8.
PARTS = 4


@dataclass(frozen=True, slots=True)
class Levels:
    """The median of each look, their standard deviation and how often chance has as much."""

    medians: NDArray[np.float64]
    look: NDArray[np.int_]
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether chance would hardly bring them about."""
        return self.p_value < SIGNIFICANCE

    @property
    def spread(self) -> float:
        """Standard deviation between looks."""
        return float(self.medians.std(ddof=1))

    def removed(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithms with the same median in every look."""
        left = logarithms - self.medians[self.look]
        return np.asarray(left + np.median(self.medians), dtype=np.float64)


def find_levels(logarithms: NDArray[np.float64], look: NDArray[np.int_]) -> Levels | None:
    """Levels of the looks and their significance; None for a single look, or tiny ones.

    Inputs change from look to look, and a kernel may mind them. Then pairs of one look are alike,
    and what is independent are the looks. Each look is cut into four parts, long enough for
    neighbours' correlation to stay within one; looks whose parts' medians differ by more than the
    parts of a look do among themselves have levels.

    Parameters
    ----------
    logarithms
        Of ratios, shape (n,), in order.
    look
        Shape (n,): the number of the look that each pair is of, never falling.

    Raises
    ------
    ValueError
        If the lengths differ.

    References
    ----------
    R. A. Fisher, "Statistical Methods for Research Workers" (1925), chapter VII: the analysis of
    variance within and between classes.
    """
    if look.shape != logarithms.shape:
        raise ValueError(
            f"find_levels: expected the look of {logarithms.size} pairs, got that of {look.size}"
        )
    number = _whole_looks(look)
    looks = int(number[-1]) + 1
    if looks < 2 or np.bincount(number).min() < PARTS:
        return None
    return Levels(_medians(logarithms, number), number, _p_value(logarithms, number))


def _whole_looks(look: NDArray[np.int_]) -> NDArray[np.int_]:
    """Numbers of the looks from 0, where short ones have the number of the one before."""
    _, number, sizes = np.unique(look, return_inverse=True, return_counts=True)
    whole = sizes >= SHORTEST * np.median(sizes)
    whole[0] = True
    return np.asarray((np.cumsum(whole) - 1)[number])


def _part(number: NDArray[np.int_]) -> NDArray[np.int_]:
    """Which of its look's equal parts each pair is of; earlier ones have what is over."""
    sizes = np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(number.size) - starts[number]
    least, over = np.divmod(sizes, PARTS)
    longer = (over * (least + 1))[number]
    among_longer = place // (least[number] + 1)
    among_others = over[number] + (place - longer) // least[number]
    return np.asarray(np.where(place < longer, among_longer, among_others))


def _medians(values: NDArray[np.float64], group: NDArray[np.int_]) -> NDArray[np.float64]:
    """Of every group of pairs, all at once; none is empty."""
    ordered = values[np.lexsort((values, group))]
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    return np.asarray((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2)


def _p_value(values: NDArray[np.float64], number: NDArray[np.int_]) -> float:
    """Of the F test of the looks' parts, which has no use for what is common to a part."""
    from scipy.special import fdtrc  # type: ignore[import-untyped,unused-ignore]

    parts = _medians(values, number * PARTS + _part(number)).reshape(-1, PARTS)
    means = parts.mean(axis=1)
    degrees = means.size * (PARTS - 1)
    within = float(np.sum((parts - means[:, None]) ** 2)) / degrees
    between = PARTS * float(means.var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else 0.0
    return float(fdtrc(means.size - 1, degrees, between / within))
