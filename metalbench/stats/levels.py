"""Find differences between batches: another level of the ratio in each batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.drift import SIGNIFICANCE

# A batch shorter than this share of the usual length joins the batch before it.
SHORTEST = 0.5
# More parts would be too short for correlated pairs, fewer have less power. Simulated false
# positives for batches of 32 pairs with AR(1) noise on each side: 1 % at rho = 0, 2 % at 0.5, 5 %
# at 0.8.
PARTS = 4


@dataclass(frozen=True, slots=True)
class BatchLevels:
    """The median of each batch, and the p-value of equal levels in all batches."""

    medians: NDArray[np.float64]
    batch: NDArray[np.int_]
    p_value: float

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below `SIGNIFICANCE`."""
        return self.p_value < SIGNIFICANCE

    @property
    def spread(self) -> float:
        """Standard deviation between batches."""
        return float(self.medians.std(ddof=1))

    def remove(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithms with the same median in every batch."""
        left = logarithms - self.medians[self.batch]
        return np.asarray(left + np.median(self.medians), dtype=np.float64)


def find_batch_levels(
    logarithms: NDArray[np.float64], batch: NDArray[np.int_]
) -> BatchLevels | None:
    """Return the batches' levels and their significance; None for one batch, or tiny ones.

    Inputs change from batch to batch, and the time of a kernel may depend on them. Then the pairs
    of one batch are correlated, and the batches are the independent units. Each batch is cut into
    four parts, long enough for the correlation of neighbours to stay within one part. A one-way
    analysis of variance compares the medians of the parts between and within batches.

    Parameters
    ----------
    logarithms
        Of ratios, shape (n,), in order.
    batch
        Shape (n,): the number of each pair's batch, non-decreasing.

    Raises
    ------
    ValueError
        If the lengths differ.

    References
    ----------
    R. A. Fisher, "Statistical Methods for Research Workers" (1925), chapter VII: the analysis of
    variance within and between classes.
    """
    if batch.shape != logarithms.shape:
        raise ValueError(
            f"find_batch_levels: expected {logarithms.size} batch numbers, got {batch.size}"
        )
    number = _number_batches(batch)
    by_batch = int(number[-1]) + 1
    if by_batch < 2 or np.bincount(number).min() < PARTS:
        return None
    return BatchLevels(_medians(logarithms, number), number, _p_value(logarithms, number))


def _number_batches(batch: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the number of each pair's batch from 0; a short batch joins the one before it."""
    _, number, sizes = np.unique(batch, return_inverse=True, return_counts=True)
    whole = sizes >= SHORTEST * np.median(sizes)
    whole[0] = True
    return np.asarray((np.cumsum(whole) - 1)[number])


def _part(number: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the part of its batch that each pair is in; earlier parts may be longer by one."""
    sizes = np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(number.size) - starts[number]
    least, over = np.divmod(sizes, PARTS)
    longer = (over * (least + 1))[number]
    among_longer = place // (least[number] + 1)
    among_others = over[number] + (place - longer) // least[number]
    return np.asarray(np.where(place < longer, among_longer, among_others))


def _medians(values: NDArray[np.float64], group: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the median of every group; no group is empty."""
    ordered = values[np.lexsort((values, group))]
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    return np.asarray((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2)


def _p_value(values: NDArray[np.float64], number: NDArray[np.int_]) -> float:
    """Return the p-value of the F test of batches on the medians of their parts."""
    from scipy.special import fdtrc  # type: ignore[import-untyped,unused-ignore]

    parts = _medians(values, number * PARTS + _part(number)).reshape(-1, PARTS)
    means = parts.mean(axis=1)
    degrees = means.size * (PARTS - 1)
    within = float(np.sum((parts - means[:, None]) ** 2)) / degrees
    between = PARTS * float(means.var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else 0.0
    return float(fdtrc(means.size - 1, degrees, between / within))
