"""Shares and pass@k, against figures that were computed by hand or can be enumerated."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from metalbench.stats import bootstrap_mean, pass_at_k, wilson_interval


def test_wilson_interval_agrees_with_the_formula() -> None:
    # (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) with z = 1.959964, n = 20, p = 0.6.
    found = wilson_interval(12, 20, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx(
        (0.6, 0.386582, 0.781193), abs=1e-6
    )


@pytest.mark.parametrize(("successes", "end"), [(0, 0.0), (7, 1.0)])
def test_wilson_interval_of_no_and_all_successes_has_width(successes: int, end: float) -> None:
    found = wilson_interval(successes, 7)
    assert found.value == end
    assert found.low <= found.value <= found.high
    assert found.high - found.low > 0.1


def test_the_share_of_nothing_is_undefined() -> None:
    found = wilson_interval(0, 0)
    assert math.isnan(found.value)
    assert not found.is_bounded


def test_pass_at_k_agrees_with_enumeration() -> None:
    for samples in range(1, 7):
        for successes in range(samples + 1):
            for k in range(1, samples + 1):
                drawn = list(combinations(range(samples), k))
                right = sum(any(each < successes for each in draw) for draw in drawn)
                assert pass_at_k(samples, successes, k) == pytest.approx(right / len(drawn))


def test_pass_at_k_is_kernelbenchs_product() -> None:
    n, c, k = 10, 3, 4
    product = math.prod(1 - k / i for i in range(n - c + 1, n + 1))
    assert pass_at_k(n, c, k) == pytest.approx(1 - product)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, 1, 5), (4, 1, 0), (4, -1, 1)])
def test_pass_at_k_raises_for_k_above_the_count(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass_at_k: expected successes"):
        pass_at_k(n, c, k)


def test_a_bootstrap_of_zeros_and_ones_has_the_ends_of_the_binomial() -> None:
    # The mean of 50 draws of 25 zeros and 25 ones: quantiles of Binomial(50, 1/2) / 50.
    found = bootstrap_mean([0.0] * 25 + [1.0] * 25, 0.95)
    assert found.value == 0.5
    assert found.low == pytest.approx(18 / 50, abs=0.021)
    assert found.high == pytest.approx(32 / 50, abs=0.021)
    assert bootstrap_mean([0.0] * 25 + [1.0] * 25, 0.95) == found


def test_bootstrap_mean_of_one_value_is_unbounded() -> None:
    found = bootstrap_mean([0.5])
    assert found.value == 0.5
    assert not found.is_bounded
