"""The order effect of pairs is estimated from the random order and removed."""

from __future__ import annotations

import numpy as np
import pytest
from noise import Noise, Pairs, Process
from scipy.stats import mannwhitneyu

from metalbench.stats import Verdict, assess
from metalbench.stats.pairs import find_order_effect


def pairs(noise: Noise, seed: int, count: int, ratio: float = 1.0) -> Pairs:
    return noise.pairs(np.random.default_rng(seed), count, ratio)


@pytest.mark.parametrize("seed", range(5))
def test_the_p_value_agrees_with_the_rank_sum_test(seed: int) -> None:
    random = np.random.default_rng(seed)
    values, first = random.normal(size=60).round(1), random.random(60) < 0.4
    order = find_order_effect(values, first)
    assert order is not None
    expected = mannwhitneyu(values[first], values[~first], method="asymptotic").pvalue
    assert order.p_value == pytest.approx(expected)


def test_removing_a_faster_second_side_leaves_no_doubt() -> None:
    noise = Noise(spread=0.003, second=-0.02)
    known, unknown = [], []
    for seed in range(20):
        reference, candidate, candidate_first, _ = pairs(noise, seed, 300)
        judgement = assess(reference, candidate, candidate_first=candidate_first)
        assert judgement.order_effect == pytest.approx(-0.02, abs=0.002)
        known.append(judgement.verdict)
        unknown.append(assess(reference, candidate).verdict)
    assert known == [Verdict.SAME] * 20
    assert unknown.count(Verdict.INCONCLUSIVE) >= 18


def test_removing_the_order_effect_restores_the_pairs() -> None:
    random = np.random.default_rng(2)
    first = random.random(400) < 0.5
    values = random.normal(0.0, 0.001, 400)
    order = find_order_effect(values + np.where(first, 0.02, -0.02), first)
    assert order is not None
    left = order.remove(values + np.where(first, 0.02, -0.02), first)
    np.testing.assert_allclose(left, values, atol=3e-4)


def test_random_order_alone_is_rarely_significant() -> None:
    noise = Noise(spread=0.003, alone=Process(rho=0.95, spread=0.05))
    found = 0
    for seed in range(400):
        reference, candidate, candidate_first, _ = pairs(noise, seed, 40)
        order = find_order_effect(np.log(reference / candidate), candidate_first)
        found += order is not None and order.is_significant
    # Four expected at 0.01; more than twelve has a probability below 1e-3.
    assert found <= 12


def test_an_insignificant_order_effect_is_not_removed() -> None:
    reference, candidate, candidate_first, _ = pairs(Noise(), 0, 200)
    judgement = assess(reference, candidate, candidate_first=candidate_first)
    assert judgement.order_effect is None
    assert judgement == assess(reference, candidate)


def test_orders_of_unequal_number_leave_their_error_in_the_interval() -> None:
    random = np.random.default_rng(4)
    values = random.normal(0.0, 0.01, 40)
    even, uneven = np.arange(40) % 2 == 0, np.arange(40) % 8 == 0
    orders = [find_order_effect(values, first) for first in (even, uneven)]
    assert orders[0] is not None
    assert orders[1] is not None
    assert orders[0].uncertainty == 0.0
    assert orders[1].uncertainty > 0.005


def test_an_order_that_is_rare_has_no_estimate() -> None:
    assert find_order_effect(np.arange(20.0), np.arange(20) < 3) is None


def test_every_pair_has_an_order() -> None:
    with pytest.raises(ValueError, match="order of 3 pairs, got that of 2"):
        find_order_effect(np.zeros(3), np.array([True, False]))
