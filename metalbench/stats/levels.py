"""Whether a ratio has another level in every look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.autocorrelation import autocorrelation_time
from metalbench.stats.drift import SIGNIFICANCE

# A look that is cut short, to less than this part of the usual length, joins the one before.
SHORTEST = 0.5


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
    """Levels of the looks and their significance; None for a single look.

    Inputs change from look to look, and a kernel may mind them. Then pairs of one look are alike,
    and what is independent are the looks. Ranks that differ between looks by more than the
    correlation of neighbours within them explains are taken for levels.

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
    W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance analysis", JASA 47
    (1952).
    """
    if look.shape != logarithms.shape:
        raise ValueError(
            f"find_levels: expected the look of {logarithms.size} pairs, got that of {look.size}"
        )
    number = _whole_looks(look)
    looks = int(number[-1]) + 1
    if looks < 2:
        return None
    medians = np.array([np.median(logarithms[number == each]) for each in range(looks)])
    tau = autocorrelation_time(logarithms - medians[number])
    return Levels(medians, number, _p_value(logarithms, number, tau))


def _whole_looks(look: NDArray[np.int_]) -> NDArray[np.int_]:
    """Numbers of the looks from 0, where short ones have the number of the one before."""
    _, number, sizes = np.unique(look, return_inverse=True, return_counts=True)
    whole = sizes >= SHORTEST * np.median(sizes)
    whole[0] = True
    return np.asarray((np.cumsum(whole) - 1)[number])


def _p_value(values: NDArray[np.float64], number: NDArray[np.int_], tau: float) -> float:
    from scipy.special import chdtrc  # type: ignore[import-untyped,unused-ignore]

    _, place, equal = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(equal) - (equal - 1) / 2.0)[place]
    variance = float(ranks.var(ddof=1))
    if variance == 0.0:
        return 1.0
    sizes = np.bincount(number)
    means = np.bincount(number, ranks) / sizes
    score = float(np.sum(sizes * (means - ranks.mean()) ** 2)) / variance
    return float(chdtrc(sizes.size - 1, score / tau))
