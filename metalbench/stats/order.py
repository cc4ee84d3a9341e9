"""Estimate the effect of the order within a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.drift import SIGNIFICANCE
from metalbench.stats.spread import MAD_SCALE

# Pairs of each order; fewer cannot be significant.
FEWEST = 4
# Standard error of the median over that of the mean, of normal values; normal quantile of the
# intervals' confidence.
MEDIAN_DEVIATION = 1.2533
QUANTILE = 2.326


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """The effect of the order within a pair.

    `second` is the log of the relative time of the second position, `uncertainty` the error of the
    median of both orders that its correction leaves, and `p_value` the significance of the rank-sum
    test.
    """

    second: float
    uncertainty: float
    p_value: float

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below `SIGNIFICANCE`."""
        return self.p_value < SIGNIFICANCE

    def remove(
        self, logarithms: NDArray[np.float64], candidate_first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the logarithms of reference / candidate without the order effect."""
        return logarithms - np.where(candidate_first, self.second, -self.second)


def find_order_effect(
    logarithms: NDArray[np.float64], candidate_first: NDArray[np.bool_]
) -> OrderEffect | None:
    """Estimate the order effect on ratios; None if one of the two orders is too rare.

    The estimate is half the difference of the two orders' medians. Its p-value is that of the
    Mann-Whitney rank-sum test. The order is randomised, so the test is valid for correlated ratios.

    Parameters
    ----------
    logarithms
        Of reference / candidate, shape (n,).
    candidate_first
        Shape (n,): whether the candidate ran first in the pair.

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
            f"find_order_effect: expected the order of {logarithms.size} pairs, "
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
    return OrderEffect(
        second=(medians[0] - medians[1]) / 2.0,
        uncertainty=QUANTILE * error * imbalance,
        p_value=_rank_sum_test(logarithms, first),
    )


def _rank_sum_test(values: NDArray[np.float64], first: NDArray[np.bool_]) -> float:
    """Return the two-sided p-value of the Mann-Whitney test, by the normal approximation."""
    from scipy.special import ndtr  # type: ignore[import-untyped,unused-ignore]

    _, place, equal = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(equal) - (equal - 1) / 2.0)[place]
    count, dealt = values.size, int(first.sum())
    variance = dealt * (count - dealt) / (count - 1) * float(ranks.var())
    excess = abs(float(ranks[first].sum()) - dealt * (count + 1) / 2.0) - 0.5
    return 2.0 * float(ndtr(-max(excess, 0.0) / math.sqrt(variance))) if variance else 1.0
