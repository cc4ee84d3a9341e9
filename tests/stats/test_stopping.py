"""The rule looks seldom and wants to be convinced twice."""

from __future__ import annotations

import numpy as np
import pytest
from noise import Noise

from metalbench.stats import StoppingRule, Verdict, assess

random = np.random.default_rng(2)
PRECISE = random.lognormal(0.0, 0.001, 256)
NOISY = random.lognormal(0.0, 0.5, 256)


def test_every_batch_adds_half_of_the_samples() -> None:
    rule = StoppingRule()
    taken = [0]
    while len(taken) < 6:
        taken.append(rule.next_analysis(taken[-1]))
    assert taken == [0, 128, 192, 288, 448, 672]


@pytest.mark.parametrize(("taken", "wanted"), [(1, 128), (127, 128), (130, 192), (300, 448)])
def test_a_short_batch_is_completed(taken: int, wanted: int) -> None:
    assert StoppingRule().next_analysis(taken) == wanted


def test_two_consecutive_precise_batches_are_enough() -> None:
    rule = StoppingRule()
    assert [rule.analyse(series) for series in (PRECISE, NOISY, PRECISE, PRECISE)] == [
        False,
        False,
        False,
        True,
    ]


def test_every_series_has_to_be_precise() -> None:
    rule = StoppingRule()
    assert not any(rule.analyse(PRECISE, NOISY) for _ in range(3))
    assert [rule.analyse(PRECISE, PRECISE) for _ in range(2)] == [False, True]


def test_few_samples_do_not_stop_sampling() -> None:
    rule = StoppingRule()
    assert not any(rule.analyse(np.full(64, 5.0)) for _ in range(3))


def test_correlated_samples_count_for_less() -> None:
    times = np.exp(Noise(rho=0.95, spread=0.001).series(np.random.default_rng(0), 512))
    rule = StoppingRule()
    assert not any(rule.analyse(times) for _ in range(3))


def test_its_numbers_can_be_chosen() -> None:
    rule = StoppingRule(first_analysis=10, half_width=0.2, min_effective=20.0, step=5)
    assert [rule.next_analysis(taken) for taken in (9, 10, 15)] == [10, 15, 25]
    assert [rule.analyse(NOISY) for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("nearest", "pairs", "enough"),
    [(3.2, 20, True), (2.5, 20, False), (1.45, 24, True)],
)
@pytest.mark.parametrize("faster", [True, False])
def test_consistent_large_effects_stop_late_sampling(
    nearest: float, pairs: int, enough: bool, faster: bool
) -> None:
    generator = np.random.default_rng(4)
    logarithms = Noise(rho=0.9, spread=0.2).series(generator, pairs)
    ratios = nearest * np.exp(logarithms - logarithms.min())
    ratios = ratios if faster else 1.0 / ratios
    times = generator.lognormal(0.0, 0.2, pairs)
    judgement = assess(times * ratios, times)
    assert judgement.effective_pairs < 30.0
    assert judgement.verdict is (Verdict.FASTER if faster else Verdict.SLOWER)
    assert judgement.p_value < 0.001
    rule = StoppingRule()
    assert not rule.analyse(times, ratios, judgement=judgement)
    assert rule.analyse(times, ratios, judgement=judgement, late=True) is enough


@pytest.mark.parametrize(("nearest", "enough"), [(1.3, False), (1.4, True)])
def test_one_effect_in_each_of_eight_blocks_stops_late_sampling(
    nearest: float, enough: bool
) -> None:
    generator = np.random.default_rng(4)
    logarithms = Noise(rho=0.9, spread=0.01).series(generator, 64)
    ratios = nearest * np.exp(logarithms - logarithms.min())
    times = generator.lognormal(0.0, 0.2, 64)
    judgement = assess(times * ratios, times)
    assert judgement.effective_pairs < 30.0
    assert judgement.p_value < 0.001
    assert StoppingRule().analyse(times, ratios, judgement=judgement, late=True) is enough
