"""Ratios of pairs, verdicts, spread and the suite's mean."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metalbench.stats import (
    Interval,
    Verdict,
    find_outliers,
    geometric_mean,
    judge,
    ratio_interval,
    stability,
)

random = np.random.default_rng(7)


def test_a_slowdown_of_both_sides_of_a_pair_cancels() -> None:
    weather = np.exp(random.normal(0, 0.5, 200))
    interval = ratio_interval(200 * weather, 100 * weather)
    assert interval.value == pytest.approx(2.0)
    assert interval.high - interval.low < 1e-9


def test_ratio_and_inverse_agree() -> None:
    a, b = random.lognormal(0, 0.1, 100), random.lognormal(0.3, 0.1, 100)
    there, back = ratio_interval(a, b), ratio_interval(b, a)
    assert there.value == pytest.approx(1 / back.value)
    assert there.low == pytest.approx(1 / back.high)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [([1.0, 2.0], [1.0], "2 and 1"), ([1.0, 0.0], [1.0, 1.0], "positive")],
)
def test_unpaired_or_impossible_times_are_errors(
    a: list[float], b: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ratio_interval(np.array(a), np.array(b))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.02, 1.10, Verdict.FASTER),
        (1.01, 1.10, Verdict.INCONCLUSIVE),
        (0.80, 0.98, Verdict.SLOWER),
        (0.80, 0.99, Verdict.INCONCLUSIVE),
        (0.99, 1.01, Verdict.SAME),
        (0.995, 1.02, Verdict.INCONCLUSIVE),
        (0.5, 2.0, Verdict.INCONCLUSIVE),
        (-math.inf, math.inf, Verdict.INCONCLUSIVE),
    ],
)
def test_verdict_needs_the_interval_on_one_side(low: float, high: float, verdict: Verdict) -> None:
    assert judge(Interval(1.0, low, high)) is verdict


def test_equal_programs_are_rarely_found_different() -> None:
    verdicts = []
    for seed in range(100):
        noise = np.random.default_rng(seed).lognormal(0, 0.02, (2, 256))
        verdicts.append(judge(ratio_interval(noise[0], noise[1])))
    assert not {Verdict.FASTER, Verdict.SLOWER} & set(verdicts)
    assert verdicts.count(Verdict.SAME) > 50


def test_stability_is_one_minus_half_the_central_spread() -> None:
    assert stability(np.full(50, 3.0)) == 1.0
    # 5 % and 95 % quantiles of 0..100 shifted by 100 are 105 and 195.
    assert stability(np.arange(100.0, 201.0)) == pytest.approx(1 - 90 / 2 / 150)
    assert stability(np.array([1.0, 1.0, 1.0, 1000.0, 1000.0])) == 0.0


def test_outliers_are_those_far_from_the_median() -> None:
    samples = np.concatenate([random.normal(100, 1, 99), [150.0]])
    assert find_outliers(samples).nonzero()[0].tolist() == [99]
    ticks = np.array([100.0] * 60 + [100.04] * 40)
    assert not find_outliers(ticks).any()


def test_geometric_mean_of_a_ratio_and_its_inverse_is_one() -> None:
    mean = geometric_mean([Interval(2.0, 1.9, 2.1), Interval(0.5, 0.45, 0.55)])
    assert mean.value == pytest.approx(1.0)
    assert mean.low < 1.0 < mean.high


def test_interval_of_the_mean_shrinks_with_the_root_of_the_number() -> None:
    one = Interval(1.0, math.exp(-0.1), math.exp(0.1))
    mean = geometric_mean([one] * 16)
    assert math.log(mean.high) == pytest.approx(0.1 / 4)
    assert math.log(mean.low) == pytest.approx(-0.1 / 4)


@pytest.mark.parametrize("ratios", [[], [Interval(1.0, -math.inf, math.inf)]])
def test_geometric_mean_raises_for_empty_or_unknown_ratios(ratios: list[Interval]) -> None:
    with pytest.raises(ValueError, match="geometric_mean"):
        geometric_mean(ratios)
