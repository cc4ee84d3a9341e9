"""What it costs to be second in a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.drift import SIGNIFICANCE
from metalbench.stats.spread import MAD_SCALE

# Of either order; fewer cannot be significant.
FEWEST = 4
# The standard deviation of a median, in those of the mean of normal values; the normal quantile of
# the intervals' confidence.
MEDIAN_DEVIATION = 1.2533
QUANTILE = 2.326


@dataclass(frozen=True, slots=True)
class Order:
    """The effect of the order in a pair.

    `second` is the logarithm of how many times as long it takes who is second, `uncertainty` how
    far the middle of both orders may move with the error of it, `p_value` how often the coin alone
    brings about as much.
    """

    second: float
    uncertainty: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether chance would hardly bring it about."""
        return self.p_value < SIGNIFICANCE

    def removed(
        self, logarithms: NDArray[np.float64], candidate_first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Logarithms of reference / candidate as if nobody were second."""
        return logarithms - np.where(candidate_first, self.second, -self.second)


def find_order(logarithms: NDArray[np.float64], candidate_first: NDArray[np.bool_]) -> Order | None:
    """The effect of the order on ratios; None if one of the orders is too rare.

    Half of the difference of the two orders' medians, with the p-value of the rank-sum test. A
    coin decided the order, so that the test holds however the ratios depend on each other.

    Parameters
    ----------
    logarithms
        Of reference / candidate, shape (n,).
    candidate_first
        Shape (n,): whether the candidate was the first of the pair.

    Raises
    ------
    ValueError
        If the lengths differ.

    References
    ----------
    H. Mann and D. Whitney, "On a test of whether one of two random variables is stochastically
    larger than the other", Ann. Math. Statist. 18 (1947).
    """
    if candidate_first.shape != logarithms.shape:
        raise ValueError(
            f"find_order: expected the order of {logarithms.size} pairs, "
            f"got that of {candidate_first.size}"
        )
    first = candidate_first.astype(bool)
    orders = logarithms[first], logarithms[~first]
    if min(each.size for each in orders) < FEWEST:
        return None
    medians = [float(np.median(each)) for each in orders]
    left = np.concatenate([each - middle for each, middle in zip(orders, medians, strict=True)])
    deviation = MEDIAN_DEVIATION * MAD_SCALE * float(np.median(np.abs(left)))
    sizes = [each.size for each in orders]
    error = 0.5 * deviation * math.sqrt(sum(1.0 / size for size in sizes))
    imbalance = abs(sizes[0] - sizes[1]) / logarithms.size
    return Order(
        second=(medians[0] - medians[1]) / 2.0,
        uncertainty=QUANTILE * error * imbalance,
        p_value=_rank_sum(logarithms, first),
    )


def _rank_sum(values: NDArray[np.float64], first: NDArray[np.bool_]) -> float:
    """Two-sided probability of ranks as unevenly dealt, by the normal limit."""
    from scipy.special import ndtr  # type: ignore[import-untyped,unused-ignore]

    _, place, equal = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(equal) - (equal - 1) / 2.0)[place]
    count, dealt = values.size, int(first.sum())
    variance = dealt * (count - dealt) / (count - 1) * float(ranks.var())
    excess = abs(float(ranks[first].sum()) - dealt * (count + 1) / 2.0) - 0.5
    return 2.0 * float(ndtr(-max(excess, 0.0) / math.sqrt(variance))) if variance else 1.0
