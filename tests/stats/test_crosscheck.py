"""The bootstrap and signed ranks are what they are called, and object when they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from metalbench.stats import CrossCheck, Interval, Verdict, cross_check
from metalbench.stats.pairs import bootstrap_median, wilcoxon_test


def normal(seed: int, count: int, centre: float = 0.0, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, spread, count)


@pytest.mark.parametrize(
    "values", [normal(1, 40, 0.004), np.round(normal(2, 60), 2), np.array([-1.0, 2, 2, 0, 3, -2])]
)
def test_wilcoxon_test_agrees_with_scipy(values: np.ndarray) -> None:
    above, below = wilcoxon_test(values)
    for ours, side in ((above, "greater"), (below, "less")):
        theirs = scipy_stats.wilcoxon(
            values, alternative=side, method="asymptotic", correction=True, zero_method="wilcox"
        )
        assert ours == pytest.approx(theirs.pvalue, rel=1e-3)


def test_wilcoxon_test_of_zeros_is_not_significant() -> None:
    assert wilcoxon_test(np.zeros(10)) == (1.0, 1.0)


@pytest.mark.parametrize("draw", ["normal", "exponential", "standard_cauchy"])
def test_the_bootstrap_agrees_with_scipy_s(draw: str) -> None:
    random = np.random.default_rng(5)
    values = getattr(random, draw)(size=41)
    ours = bootstrap_median(values, 0.9)
    theirs = scipy_stats.bootstrap(
        (values,), np.median, confidence_level=0.9, n_resamples=9999, random_state=5, method="BCa"
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.1 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.1 * width)


def test_the_bootstrap_covers_the_median() -> None:
    covered = 0
    for seed in range(200):
        interval = bootstrap_median(normal(seed, 47, 1.0))
        covered += interval.low <= 1.0 <= interval.high
    # At 97 %, fewer than 185 of 200 have a probability below 1e-3.
    assert covered >= 185


@pytest.mark.parametrize("count", [48, 100, 1000])
def test_clear_differences_are_supported(count: int) -> None:
    faster, slower = cross_check(normal(1, count, 0.1)), cross_check(normal(1, count, -0.1))
    same = cross_check(normal(1, count))
    assert faster is not None
    assert slower is not None
    assert same is not None
    assert not faster.disagrees(Verdict.FASTER)
    assert not slower.disagrees(Verdict.SLOWER)
    assert not same.disagrees(Verdict.SAME)
    assert faster.disagrees(Verdict.SLOWER)
    assert slower.disagrees(Verdict.FASTER)
    assert faster.disagrees(Verdict.SAME)
    assert same.disagrees(Verdict.FASTER)
    assert not any(check.disagrees(Verdict.INCONCLUSIVE) for check in (faster, slower, same))


def test_signed_ranks_alone_may_object() -> None:
    check = CrossCheck(Interval(1.05, 1.02, 1.08), p_above=0.3, p_below=0.7, blocks=20)
    assert check.disagrees(Verdict.FASTER)
    assert not check.disagrees(Verdict.SAME, margin=0.03)


def test_too_few_independent_pairs_are_not_checked() -> None:
    assert cross_check(normal(0, 7)) is None
    assert cross_check(np.repeat([0.0, 0.1, 0.2], 30)) is None


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert bootstrap_median(np.full(9, 2.0)) == Interval(2.0, 2.0, 2.0)
