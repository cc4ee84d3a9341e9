"""The location of a series: by ranks, with a trend removed, or by blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from noise import Noise, Process
from scipy.stats import t as student

from metalbench.stats import MARGIN, BlockRange, Cause, Verdict, assess, judge
from metalbench.stats.location import BlockLocation, RankLocation, lag1_autocorrelation, locate

EDGES = math.log1p(-MARGIN), math.log1p(MARGIN)
# One side has a noise that lasts for about ten of forty pairs.
DEPENDENT = Noise(spread=0.003, alone=Process(rho=0.9, spread=0.05))


def logarithms(noise: Noise, seed: int, count: int, ratio: float = 1.0) -> np.ndarray:
    reference, candidate, *_ = noise.pairs(np.random.default_rng(seed), count, ratio)
    return np.log(reference / candidate)


def test_many_independent_values_are_judged_by_ranks() -> None:
    location = locate(logarithms(Noise(), 0, 300))
    assert isinstance(location, RankLocation)
    assert location.effective > 100


def test_few_uncorrelated_values_use_ranks_and_others_blocks() -> None:
    rising = np.linspace(0.0, 0.1, 12)
    assert isinstance(locate(rising), BlockLocation)
    assert isinstance(locate(rising[[6, 0, 9, 3, 11, 1, 8, 4, 10, 2, 7, 5]]), RankLocation)


def test_block_intervals_are_widened_for_autocorrelation() -> None:
    medians = np.array([0.02, 0.03, 0.05, 0.04, 0.06, 0.05, 0.07, 0.08])
    blocks = BlockLocation(medians, 0.0, float(np.median(medians)))
    r = lag1_autocorrelation(medians) + 1 / 8
    assert 0.5 < r < 0.9
    deviation = medians.std(ddof=1) / math.sqrt(8) * math.sqrt((1 + r) / (1 - r))
    interval = blocks.interval()
    assert interval.high - medians.mean() == pytest.approx(student.ppf(0.99, 7) * deviation)
    expected = 2 * student.sf((medians.mean() - EDGES[1]) / deviation, 7)
    assert blocks.p_value(*EDGES) == pytest.approx(expected)


def test_alternating_blocks_do_not_narrow_the_interval() -> None:
    medians = np.array([0.02, 0.08] * 4)
    assert BlockLocation(medians, 0.0, 0.05).deviation == pytest.approx(
        medians.std(ddof=1) / math.sqrt(8)
    )


def test_a_block_interval_contains_every_block() -> None:
    medians = np.array([0.05] * 7 + [0.9])
    interval = BlockLocation(medians, 0.0, 0.05).interval()
    assert interval.low <= 0.05
    assert interval.high >= 0.9


@pytest.mark.parametrize(
    ("lowest", "highest", "is_near"),
    [(0.05, 0.09, False), (0.012, 0.09, True), (0.032, 0.11, False), (0.02, 0.1, True)],
)
def test_a_block_within_a_quarter_of_their_range_of_the_margin_is_near(
    lowest: float, highest: float, is_near: bool
) -> None:
    medians = np.array([lowest, highest] + [0.06] * 6)
    assert BlockLocation(medians, 0.0, 0.06).has_scattered_blocks(*EDGES) == is_near
    assert BlockLocation(-medians - 0.0002, 0.0, -0.06).has_scattered_blocks(*EDGES) == is_near
    assert not BlockLocation(medians, 0.0, 0.06, by_batch=True).has_scattered_blocks(*EDGES)


def test_blocks_are_the_same_only_if_all_are() -> None:
    medians = np.array([0.001, -0.002, 0.003, 0.0, 0.001, -0.001, 0.002, 0.0])
    assert not BlockLocation(medians, 0.0, 0.0).has_scattered_blocks(*EDGES)
    medians[3] = 0.02
    assert BlockLocation(medians, 0.0, 0.0).has_scattered_blocks(*EDGES)


@pytest.mark.parametrize("ratio", [1.0, 1.012, 1.03, 3.0])
@pytest.mark.parametrize(
    ("noise", "count"),
    [
        (Noise(), 12),
        (Noise(), 200),
        (DEPENDENT, 12),
        (DEPENDENT, 40),
        (Noise(rho=0.95, own=True), 300),
    ],
)
def test_an_interval_beyond_the_margin_has_a_small_p_value(
    noise: Noise, count: int, ratio: float
) -> None:
    for seed in range(20):
        location = locate(logarithms(noise, seed, count, ratio))
        verdict = judge(location.interval().map(math.exp))
        if verdict in (Verdict.FASTER, Verdict.SLOWER):
            assert location.p_value(*EDGES) <= 0.02
        if isinstance(location, RankLocation):
            assert (location.p_value(*EDGES) <= 0.02) == (
                verdict in (Verdict.FASTER, Verdict.SLOWER)
            )


def test_a_drifting_ratio_has_the_p_value_of_its_interval() -> None:
    series = logarithms(Noise(spread=0.005), 3, 600, 3.0) + np.linspace(-0.04, 0.04, 600)
    location = locate(series)
    assert isinstance(location, RankLocation)
    assert location.beyond == pytest.approx(0.04, rel=0.05)
    assert location.p_value(*EDGES) < 1e-6


def test_forty_dependent_pairs_find_a_ratio_of_three_and_say_how_far_blocks_reach() -> None:
    found = 0
    for seed in range(30):
        reference, candidate, *_ = DEPENDENT.pairs(np.random.default_rng(seed), 40, 3.0)
        judgement = assess(reference, candidate)
        found += judgement.verdict is Verdict.FASTER
        assert judgement.ratio.is_bounded
        if judgement.blocks is not None:
            assert isinstance(judgement.blocks, BlockRange)
            assert judgement.ratio.low <= judgement.blocks.low <= judgement.blocks.high
    assert found == 30


def test_one_block_near_the_margin_is_a_reason_for_inconclusive() -> None:
    steps = np.repeat([0.10, 0.04, 0.09, 0.10, 0.0100, 0.0912, 0.10, 0.09], 5)
    series = steps + np.random.default_rng(0).normal(0.0, 1e-4, 40)
    judgement = assess(np.exp(series + 0.02), np.ones(40))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert Cause.SCATTERED in [reason.cause for reason in judgement.reasons]
    assert "their blocks range from 1.030" in judgement.reasons[0].seen


def test_no_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        locate(np.array([]))
