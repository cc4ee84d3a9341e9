"""Few pairs that leave no doubt: when five do, and that no noise passes for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from noise import Noise, Process
from tables import alone

from metalbench.stats import LARGE_EFFECT_PAIRS, Verdict, assess, is_large_effect, median_interval
from metalbench.stats.location import BlockLocation, locate

ALL_SLOWER = np.log([10.0, 11.0, 10.5, 12.0, 10.2])


def pairs_of(noise: Noise, ratio: float, count: int = LARGE_EFFECT_PAIRS, trials: int = 1000):
    """Times of both sides, with a seed for each trial."""
    for seed in range(trials):
        yield noise.pairs(np.random.default_rng(seed), count, ratio)


def far_share(noise: Noise, ratio: float, trials: int = 1000) -> float:
    found = [
        is_large_effect(np.log(each.reference / each.candidate)) for each in pairs_of(noise, ratio)
    ]
    return sum(found) / trials


def test_is_large_effect_needs_distance_and_small_spread() -> None:
    assert is_large_effect(ALL_SLOWER)
    assert is_large_effect(-ALL_SLOWER)
    assert not is_large_effect(np.log([2.9, 3.2, 3.1, 3.0, 3.1]))  # too near
    assert not is_large_effect(np.log([4.0, 9.0, 5.0, 6.0, 5.0]))  # too wide
    assert not is_large_effect(np.array([2.0, 2.1, -2.0, 2.0, 2.1]))  # on both sides


def test_five_pairs_have_a_verdict_only_for_large_effects() -> None:
    judgement = assess(np.exp(ALL_SLOWER), np.ones(5))
    assert judgement.verdict is Verdict.FASTER
    assert judgement.ratio.low <= 10.0
    assert judgement.ratio.high >= 12.0
    assert judgement.ratio.low > 3.0
    assert judgement.blocks is not None
    assert (judgement.blocks.low, judgement.blocks.high) == pytest.approx((10.0, 12.0))
    assert assess(np.ones(5), np.exp(ALL_SLOWER)).verdict is Verdict.SLOWER
    assert assess(np.exp(ALL_SLOWER[:4]), np.ones(4)).verdict is Verdict.INCONCLUSIVE
    assert assess(np.exp(0.2 * ALL_SLOWER), np.ones(5)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_the_interval_of_a_large_effect_excludes_the_margin(order: slice) -> None:
    # The widest that still counts, in the order that looks the most correlated.
    widest = math.log(3.0) * np.array([1.0, 1.0, 1.0, 1.33, 1.33])[order]
    assert is_large_effect(widest)
    location = locate(widest)
    assert isinstance(location, BlockLocation)
    assert location.interval().low > 0.01
    assert location.p_value(-0.01, 0.01) < 0.02


@pytest.mark.parametrize(
    ("noise", "most"),
    [
        (alone(0.9), 0.0),
        (alone(0.95, 0.3), 0.0),
        (alone(0.9, 1.0), 0.042),
        (Noise(spread=0.003, drift=0.2, own=True), 0.0),
        (Noise(spread=0.003, alone=Process(spread=0.3, freedom=1.5)), 0.0),
        (Noise(spread=0.003, alone=Process(hurst=0.8, spread=0.3)), 0.0),
        (Noise(spread=0.05, slow_share=0.3, slow=3.0, own=True), 0.02),
    ],
)
def test_equal_or_similar_kernels_have_no_large_effect(noise: Noise, most: float) -> None:
    assert far_share(noise, 1.0) <= most
    wrong = [
        is_large_effect(logarithms) and logarithms[0] < 0
        for logarithms in (np.log(p.reference / p.candidate) for p in pairs_of(noise, 1.03))
    ]
    assert np.mean(wrong) <= most


@pytest.mark.parametrize("ratio", [1 / 7, 7.0, 20.0])
def test_a_large_ratio_is_found_despite_a_busy_machine(ratio: float) -> None:
    assert far_share(alone(0.5, 0.1), ratio) > 0.95


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_intervals_of_five_cover_more_often_than_those_of_eight_by_ranks(rho: float) -> None:
    covered = {5: 0, 8: 0}
    for seed in range(500):
        series = np.exp(Process(rho=rho, spread=0.05).series(np.random.default_rng(seed), 8))
        for count in covered:
            interval = median_interval(series[:count])
            covered[count] += interval.low <= 1.0 <= interval.high and interval.is_bounded
    assert covered[5] > covered[8]
    assert covered[5] >= (480 if rho == 0.0 else 350)
