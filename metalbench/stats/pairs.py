"""The ratio of two times that were measured in pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, MARGIN, Interval, Verdict
from metalbench.stats.location import BlockLocation, RankLocation, locate
from metalbench.stats.series import (
    DRIFT_SIGNIFICANCE,
    FEWEST_BLOCKS,
    DistributionMode,
    Drift,
    autocorrelation_time,
    block_length,
    block_medians,
    clock_resolution,
    estimate_trend,
    find_drift,
    find_modes,
)


def log_ratios(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the logarithm of each pair's ratio, shape (n,).

    Parameters
    ----------
    numerator, denominator
        Shape (n,) each, positive, in the same unit; entry i of both is pair i.

    Raises
    ------
    ValueError
        If the lengths differ or a time is not positive.
    """
    if numerator.shape != denominator.shape:
        raise ValueError(
            f"log_ratios: expected pairs, got {numerator.size} and {denominator.size} samples"
        )
    if not (np.all(numerator > 0) and np.all(denominator > 0)):
        raise ValueError("log_ratios: expected positive times")
    return np.asarray(np.log(numerator) - np.log(denominator), dtype=np.float64)


def ratio_interval(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the median ratio of pairs with its interval; arguments and errors as of `log_ratios`.

    A disturbance of both halves of a pair cancels in the pair's ratio. The log scale treats a ratio
    and its inverse alike. The resolution of both clocks widens the interval.
    """
    return _location(numerator, denominator).interval(confidence).map(math.exp)


def ratio_p_value(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], margin: float
) -> float:
    """Return the p-value of a median ratio outside of ``1 +- margin``.

    The method is that of the interval: at most `1 - confidence` if the interval of that confidence
    lies outside of the margin, and 1 if the median lies within.
    """
    return _location(numerator, denominator).p_value(math.log1p(-margin), math.log1p(margin))


def _location(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> RankLocation | BlockLocation:
    beyond = 0.5 * (clock_resolution(numerator) + clock_resolution(denominator))
    return locate(log_ratios(numerator, denominator), beyond)


# Dispersion of a series of times.

CENTRAL = 0.90
# Makes the median absolute deviation of a normal sample its standard deviation: 1 / Phi^-1(3/4).
MAD_SCALE = 1.4826
OUTLIER_DEVIATIONS = 5.0
# Coarse clock ticks can make most samples equal and their deviation 0.
LEAST_RELATIVE_DISTANCE = 0.01
# Smaller relative distances from the median are not distinguished.
LEAST_SPREAD = 0.001


def stability(samples: NDArray[np.float64]) -> float:
    """Return 1 - (half-width of the central 90 % of samples / median), clipped to 0..1.

    Parameters
    ----------
    samples
        Shape (n,), n >= 1, positive.
    """
    tail = (1.0 - CENTRAL) / 2.0
    low, median, high = np.quantile(samples, [tail, 0.5, 1.0 - tail])
    return float(np.clip(1.0 - (high - low) / (2.0 * median), 0.0, 1.0))


def find_outliers(samples: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which samples lie more than five scaled median absolute deviations from the median.

    Outliers are reported and kept: the median is robust against them.

    References
    ----------
    B. Iglewicz and D. Hoaglin, "How to Detect and Handle Outliers" (1993).
    """
    median = np.median(samples)
    distance = np.abs(samples - median)
    limit = OUTLIER_DEVIATIONS * MAD_SCALE * np.median(distance)
    return np.asarray(distance > max(limit, LEAST_RELATIVE_DISTANCE * abs(median)), dtype=np.bool_)


def spread_ratio(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the ratio of the dispersions of two series about their medians, with its interval.

    It is the median of the pairs' ratios of distances from each side's median, on the log scale. A
    disturbance of both halves of a pair increases both distances and cancels. For two scaled copies
    of any distribution it is the ratio of the scales.

    Parameters
    ----------
    numerator, denominator
        Shape (n,) each, n >= 1, positive; entry i of both is pair i. Windows must have equal
        length, because a longer window averages more noise away.
    """
    distances = log_ratios(_distances(numerator), _distances(denominator))
    return locate(distances, 0.0).interval(confidence).map(math.exp)


def _distances(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each sample's relative distance from the median, at least the clock resolution."""
    logarithms = np.log(samples)
    least = max(LEAST_SPREAD, 0.5 * clock_resolution(samples))
    return np.asarray(np.maximum(np.abs(logarithms - np.median(logarithms)), least), np.float64)


# Estimate the effect of the order within a pair.

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
        return self.p_value < DRIFT_SIGNIFICANCE

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


# Find differences between batches: another level of the ratio in each batch.

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
        return self.p_value < DRIFT_SIGNIFICANCE

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


# Check a verdict with two other methods: a bootstrap and the Wilcoxon signed-rank test.

# The interval of a verdict has 1 % on each side; the other methods may be less certain.
CROSS_CHECK_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A ratio by the bootstrap, and the Wilcoxon signed-rank test of its logarithm.

    `p_above` is the one-sided p-value of a ratio above 1, `p_below` of a ratio below 1. `blocks` is
    the number of block medians.
    """

    ratio: Interval
    p_above: float
    p_below: float
    blocks: int

    def disagrees(self, verdict: Verdict, margin: float = MARGIN) -> bool:
        """Return whether neither method supports a verdict.

        FASTER needs a bootstrap interval above 1 and a significant `p_above`, SLOWER the opposite.
        SAME needs a bootstrap interval that overlaps ``1 +- margin``. INCONCLUSIVE needs no
        support.
        """
        if verdict is Verdict.FASTER:
            return self.ratio.low <= 1.0 or self.p_above > CROSS_CHECK_SIGNIFICANCE
        if verdict is Verdict.SLOWER:
            return self.ratio.high >= 1.0 or self.p_below > CROSS_CHECK_SIGNIFICANCE
        if verdict is Verdict.SAME:
            return self.ratio.low > 1.0 + margin or self.ratio.high < 1.0 - margin
        return False


def cross_check(
    logarithms: NDArray[np.float64], confidence: float = CONFIDENCE
) -> CrossCheck | None:
    """Return bootstrap and signed ranks of a series' block medians; None for too few blocks.

    Parameters
    ----------
    logarithms
        Logarithms of the pairs' ratios, shape (n,), in order.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987); H. R. Kuensch, "The
    jackknife and the bootstrap for general stationary observations", Ann. Statist. 17 (1989): the
    use of blocks; F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1
    (1945).
    """
    length = block_length(logarithms.size, autocorrelation_time(logarithms))
    if length is None:
        return None
    return cross_check_blocks(block_medians(logarithms, length), confidence)


def cross_check_blocks(medians: NDArray[np.float64], confidence: float = CONFIDENCE) -> CrossCheck:
    """Return bootstrap and signed ranks of independent block medians."""
    # An odd number, whose median is one of the values; the first block is the least settled.
    medians = medians[1 - medians.size % 2 :]
    ratio = bootstrap_median(medians, confidence).map(math.exp)
    return CrossCheck(ratio, *wilcoxon_test(medians), medians.size)


def bootstrap_median(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Return the bias-corrected and accelerated (BCa) bootstrap interval of a median.

    Needs an odd number of values. No resamples are drawn: the number of values of a resample below
    a threshold is binomial, so the distribution of the resampled median is known exactly.

    References
    ----------
    B. Efron, "The Jackknife, the Bootstrap and Other Resampling Plans" (1982), section 10.4.
    """
    from scipy.special import bdtr, ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    ordered = np.sort(values)
    count, middle = ordered.size, ordered.size // 2
    # Probability that a resample's median is at most each of the values.
    upto = 1.0 - bdtr(middle, count, np.arange(1, count + 1) / count)
    first, last = (
        np.searchsorted(ordered, ordered[middle], "left"),
        np.searchsorted(ordered, ordered[middle], "right"),
    )
    below = (upto[first - 1] if first else 0.0) / 2.0 + upto[last - 1] / 2.0
    bias, acceleration = float(ndtri(below)), _acceleration(ordered)
    tail = (1.0 - confidence) / 2.0
    z = bias + np.asarray(ndtri([tail, 1.0 - tail]))
    places = np.searchsorted(upto, ndtr(bias + z / (1.0 - acceleration * z)))
    low, high = ordered[np.minimum(places, count - 1)]
    median = float(ordered[middle])
    return Interval(median, min(float(low), median), max(float(high), median))


def wilcoxon_test(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the one-sided p-values of the Wilcoxon signed-rank test, above 0 and below 0.

    Uses the normal approximation with a continuity correction. Zeros are dropped; ties share ranks.
    """
    from scipy.special import ndtr  # type: ignore[import-untyped,unused-ignore]

    values = values[values != 0.0]
    _, place, equal = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    if equal.size == 0:
        return 1.0, 1.0
    ranks = (np.cumsum(equal) - (equal - 1) / 2.0)[place]
    above, total = float(ranks[values > 0.0].sum()), float(ranks.sum())
    deviation = math.sqrt(float(np.sum(ranks * ranks))) / 2.0
    # Continuity correction: half the step of a rank sum.
    excess = above - total / 2.0
    return (
        float(ndtr((0.5 - excess) / deviation)),
        float(ndtr((0.5 + excess) / deviation)),
    )


def _acceleration(ordered: NDArray[np.float64]) -> float:
    """Return the acceleration constant: the skewness of the jackknife medians over six."""
    middle = ordered.size // 2
    before, at, after = ordered[middle - 1 : middle + 2]
    medians = np.repeat(
        [(at + after) / 2.0, (before + after) / 2.0, (before + at) / 2.0], [middle, 1, middle]
    )
    distance = medians.mean() - medians
    spread = float(np.sum(distance**2))
    return float(np.sum(distance**3)) / (6.0 * spread**1.5) if spread > 0.0 else 0.0


# Pairs of times, corrected for the order effect and for different levels of batches.


@dataclass(frozen=True)
class PairedTimes:
    """Times without the order effect, with the significant effects that were found.

    `logarithms` are those of the ratios. `order` and `levels` are None if they are not significant.
    Pairs of batches with different levels are not independent: then the medians of the batches are
    the values of all further analysis. `resolutions` are those of both clocks, relative.
    """

    reference: NDArray[np.float64]
    candidate: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    resolutions: tuple[float, float]
    order: OrderEffect | None
    levels: BatchLevels | None

    @classmethod
    def of(
        cls,
        reference: NDArray[np.float64],
        candidate: NDArray[np.float64],
        candidate_first: NDArray[np.bool_] | None = None,
        batch: NDArray[np.int_] | None = None,
    ) -> PairedTimes:
        """Remove significant effects; `candidate_first` or `batch` None skips the effect."""
        logarithms = log_ratios(reference, candidate)
        resolutions = clock_resolution(reference), clock_resolution(candidate)
        order = None if candidate_first is None else find_order_effect(logarithms, candidate_first)
        if candidate_first is not None and order is not None and order.is_significant:
            less = np.exp(-order.second)
            reference = np.where(candidate_first, less * reference, reference)
            candidate = np.where(candidate_first, candidate, less * candidate)
            logarithms = order.remove(logarithms, candidate_first)
        else:
            order = None
        levels = None if batch is None else find_batch_levels(logarithms, batch)
        significant = levels is not None and levels.is_significant
        return cls(
            reference, candidate, logarithms, resolutions, order, levels if significant else None
        )

    @cached_property
    def location(self) -> RankLocation | BlockLocation:
        """The estimate of the ratio's median."""
        beyond = 0.5 * sum(self.resolutions) + (self.order.uncertainty if self.order else 0.0)
        if self.levels is None:
            return locate(self.logarithms, beyond)
        medians = self.levels.medians
        return BlockLocation(medians, beyond, float(np.median(medians)), by_batch=True)

    def drift(self) -> Drift | None:
        """Return the trend of the ratio."""
        if self.levels is None:
            return find_drift(self.logarithms)
        medians, count = self.levels.medians, self.logarithms.size
        if medians.size < FEWEST_BLOCKS:
            return None
        return estimate_trend(medians, count / medians.size, count)

    def cross_check(self) -> CrossCheck | None:
        """Return the ratio by other methods; None for too few blocks."""
        if self.levels is None:
            return cross_check(self.logarithms)
        medians = self.levels.medians
        return cross_check_blocks(medians) if medians.size >= FEWEST_BLOCKS else None

    def modes(self) -> tuple[DistributionMode, ...]:
        """Return the modes of the ratio.

        If both times have the same number of modes, the modes of the one are paired with those of
        the other. A machine that changes between two clock rates within pairs gives the ratio a
        third and a fourth value, although at each clock rate there is only one.
        """
        if self.levels is not None:
            return find_modes(self.levels.remove(self.logarithms), sum(self.resolutions))
        parts = find_modes(self.logarithms, sum(self.resolutions))
        if len(parts) == 1:
            return parts
        theirs, ours = (
            find_modes(np.log(times), resolution)
            for times, resolution in zip(
                (self.reference, self.candidate), self.resolutions, strict=True
            )
        )
        if len(theirs) != len(ours) or len(ours) == 1:
            return parts
        return tuple(
            DistributionMode(one.value - other.value, min(one.share, other.share))
            for one, other in zip(theirs, ours, strict=True)
        )
