"""The median's interval covers what it says it covers, also when samples are correlated."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import t as student

from metalbench.stats import Interval, autocorrelation_time, effective_sample_size, median_interval
from metalbench.stats.location import _lower_rank, lag1_autocorrelation

TRUTH = 1000.0


def ar1(rho: float, count: int, seed: int, spread: float = 0.02) -> np.ndarray:
    """Log-normal times around TRUTH whose logarithms are AR(1) with standard deviation `spread`."""
    noise = np.random.default_rng(seed).normal(size=count + 200)
    step = math.sqrt(1 - rho * rho)
    series = accumulate(noise, lambda last, fresh: rho * last + step * fresh)
    return TRUTH * np.exp(spread * np.array(list(series))[200:])


def coverage(rho: float, count: int, runs: int) -> float:
    """Fraction of runs whose interval covers TRUTH."""
    intervals = (median_interval(ar1(rho, count, seed)) for seed in range(runs))
    return sum(interval.low <= TRUTH <= interval.high for interval in intervals) / runs


@pytest.mark.parametrize("count", [7, 16, 64, 101])
@pytest.mark.parametrize("confidence", [0.9, 0.98])
def test_rank_is_the_largest_with_a_tail_below_alpha(count: int, confidence: float) -> None:
    tail = [math.comb(count, below) / 2**count for below in range(count + 1)]
    below = np.cumsum(tail)
    allowed = [rank for rank in range(count) if below[rank] <= (1 - confidence) / 2]
    assert _lower_rank(count, confidence) == max(allowed)


def test_ranks_of_six_samples_cannot_carry_a_98_percent_interval_and_those_of_seven_can() -> None:
    assert _lower_rank(6, 0.98) is None
    assert _lower_rank(7, 0.98) == 0


@pytest.mark.parametrize("count", [5, 6])
def test_five_and_six_samples_have_the_t_interval_of_their_logarithms(count: int) -> None:
    logarithms = np.array([0.1, 0.02, 0.12, 0.03, 0.08, 0.05])[:count]
    interval = median_interval(np.exp(logarithms))
    assert math.log(interval.value) == pytest.approx(np.median(logarithms), abs=1e-3)
    reach = student.ppf(0.99, count - 1) * logarithms.std(ddof=1) / math.sqrt(count)
    assert lag1_autocorrelation(logarithms) < 0
    r = max(0.0, lag1_autocorrelation(logarithms) + 1 / count)
    widened = math.sqrt((1 + r) / (1 - r))
    assert math.log(interval.high) - logarithms.mean() == pytest.approx(reach * widened)
    assert math.log(interval.low) - logarithms.mean() == pytest.approx(-reach * widened)


def test_four_samples_or_invalid_times_have_no_interval() -> None:
    assert not median_interval(np.arange(1.0, 5.0)).is_bounded
    assert not median_interval(np.arange(0.0, 5.0)).is_bounded


def test_an_interval_of_five_samples_has_all_of_them() -> None:
    interval = median_interval(np.array([1.0, 1.0, 1.0, 1.0, 50.0]))
    assert interval.low <= 1.0
    assert interval.high >= 50.0


def test_independent_samples_are_covered_at_the_stated_confidence() -> None:
    # 400 runs at 98 %: fewer than 384 covered has probability below 1e-3.
    assert coverage(rho=0.0, count=200, runs=400) >= 0.96


def test_correlated_samples_are_covered_too() -> None:
    # Measured 0.95; an interval for independent samples covers about 0.6 of these.
    assert coverage(rho=0.8, count=1000, runs=200) >= 0.91


def test_the_test_finds_intervals_that_ignore_correlation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "metalbench.stats.location.effective_sample_size", lambda samples: samples.size
    )
    assert coverage(rho=0.8, count=1000, runs=100) <= 0.8


def test_autocorrelation_time_of_an_ar1_series_is_the_theoretical_one() -> None:
    rho = 0.8
    signs = [2 / math.pi * math.asin(rho**lag) for lag in range(1, 200)]
    expected = 1 + 2 * sum(signs)
    assert autocorrelation_time(ar1(rho, 200_000, seed=1)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    "samples", [np.full(100, 5.0), np.tile([1.0, 2.0], 50), np.array([3.0]), np.array([1.0, 9.0])]
)
def test_constant_alternating_and_tiny_series_have_tau_one(samples: np.ndarray) -> None:
    assert autocorrelation_time(samples) == 1.0
    assert effective_sample_size(samples) == samples.size


def test_constant_series_has_an_interval_of_no_width() -> None:
    assert median_interval(np.full(64, 7.0)) == Interval(7.0, 7.0, 7.0)


def test_median_interval_is_robust_to_one_outlier() -> None:
    samples = np.random.default_rng(0).normal(100, 1, 101)
    spoiled = samples.copy()
    spoiled[np.argmax(samples)] = 1e9
    assert median_interval(spoiled) == median_interval(samples)


def test_no_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        median_interval(np.array([]))


def test_falling_function_swaps_the_ends() -> None:
    assert Interval(2.0, 1.0, 4.0).map(lambda t: 4 / t) == Interval(2.0, 1.0, 4.0)
    assert Interval(2.0, 1.0, 4.0).scale(10) == Interval(20.0, 10.0, 40.0)
    assert not Interval(2.0, -math.inf, math.inf).map(math.exp).is_bounded


def test_median_interval_of_a_drift_covers_the_drift() -> None:
    noise = np.random.default_rng(0).normal(0.0, 0.1, 500)
    samples = noise + np.linspace(100.0, 110.0, 500)
    interval = median_interval(samples)
    assert interval.value == pytest.approx(105.0, abs=0.1)
    assert interval.low == pytest.approx(100.0, abs=0.3)
    assert interval.high == pytest.approx(110.0, abs=0.3)


@pytest.mark.parametrize(("rho", "count"), [(0.5, 64), (0.8, 128), (0.95, 128), (0.95, 512)])
def test_a_series_no_longer_than_a_few_tau_is_covered(rho: float, count: int) -> None:
    # Sokal's tau as it is covers 0.93, 0.94, 0.86 and 0.93 of these.
    assert coverage(rho, count, runs=400) >= 0.95
