"""Trends are found where they are, and only there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from metalbench.stats import Drift, find_drift
from metalbench.stats.series import estimate_trend

RUNS = 200


def noise(seed: int, count: int = 500, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, spread, count)


def found(logarithms: np.ndarray) -> Drift:
    drift = find_drift(logarithms)
    assert drift is not None
    return drift


@pytest.mark.parametrize("values", [np.arange(20.0) ** 1.5, np.round(noise(1, 40), 2)])
def test_estimate_trend_agrees_with_scipy(values: np.ndarray) -> None:
    trend = estimate_trend(values, 1, values.size, 0.98)
    slope = scipy_stats.theilslopes(values, alpha=0.98)
    tau = scipy_stats.kendalltau(np.arange(values.size), values, method="asymptotic", variant="c")
    assert trend.per_sample.value == pytest.approx(slope.slope)
    # Ranks of the interval are rounded the other way by one.
    assert trend.per_sample.low == pytest.approx(slope.low_slope, rel=0.1)
    assert trend.per_sample.high == pytest.approx(slope.high_slope, rel=0.1)
    pairs = values.size * (values.size - 1) / 2
    score = np.sign(np.subtract.outer(values, values))[np.tril_indices(values.size, -1)].sum()
    assert trend.tau == pytest.approx(score / pairs)
    # A continuity correction is all that differs.
    assert trend.p_value == pytest.approx(tau.pvalue, rel=0.3)
    assert trend.p_value >= tau.pvalue


def test_steady_noise_has_no_trend() -> None:
    significant = [found(noise(seed)).is_significant for seed in range(RUNS)]
    # At 1 %, 9 or more of 200 have a probability below 1e-3.
    assert sum(significant) < 9


def test_the_slope_s_interval_covers_the_true_slope() -> None:
    covered = 0
    for seed in range(RUNS):
        slope = found(noise(seed) + 1e-4 * np.arange(500)).per_sample
        covered += slope.low <= 1e-4 <= slope.high
    # At 98 %, fewer than 188 of 200 have a probability below 1e-3.
    assert covered >= 188


def test_a_rise_of_five_percent_is_found_and_measured() -> None:
    drift = found(noise(0) + 1e-4 * np.arange(500))
    assert drift.is_significant
    assert drift.tau > 0.3
    assert drift.total == pytest.approx(math.expm1(0.05), rel=0.25)


def test_a_fall_is_a_negative_drift() -> None:
    drift = found(noise(0) - 1e-4 * np.arange(500))
    assert drift.is_significant
    assert drift.per_sample.high < 0.0


def test_a_trend_far_above_the_noise_does_not_hide_as_correlation() -> None:
    assert found(noise(0, spread=1e-4) + 1e-3 * np.arange(500)).is_significant


def test_one_outlier_is_not_a_trend() -> None:
    spoiled = noise(3)
    spoiled[-1] = 5.0
    assert not found(spoiled).is_significant


def test_a_constant_series_does_not_drift() -> None:
    drift = found(np.zeros(100))
    assert (drift.p_value, drift.per_sample.value, drift.total) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("count", [1, 7])
def test_too_few_samples_have_no_drift_to_speak_of(count: int) -> None:
    assert find_drift(np.arange(float(count))) is None
