"""Looks that differ are one value each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from noise import Noise
from scipy.stats import f_oneway
from scipy.stats import t as student

from metalbench.stats import Verdict, assess
from metalbench.stats.pairs import find_batch_levels


@pytest.mark.parametrize("seed", range(5))
def test_the_p_value_of_levels_agrees_with_an_anova_of_quarters(seed: int) -> None:
    values, look = np.random.default_rng(seed).normal(size=96), np.repeat(np.arange(3), 32)
    levels = find_batch_levels(values, look)
    assert levels is not None
    quarters = np.median(values.reshape(3, 4, 8), axis=2)
    assert levels.p_value == pytest.approx(f_oneway(*quarters).pvalue)


def test_a_short_last_batch_joins_the_one_before() -> None:
    look = np.repeat([0, 1, 2, 3], [32, 32, 32, 5])
    levels = find_batch_levels(np.random.default_rng(0).normal(size=101), look)
    assert levels is not None
    assert levels.medians.size == 3


def test_one_batch_has_no_levels() -> None:
    assert find_batch_levels(np.zeros(30), np.zeros(30, int)) is None


def test_batches_with_levels_are_the_sample_values() -> None:
    noise = Noise(level=0.01, spread=0.003)
    reference, candidate, _, look = noise.pairs(np.random.default_rng(1), 512, 1.05)
    judgement = assess(reference, candidate, batch=look)
    medians = np.median(np.log(reference / candidate).reshape(16, 32), axis=1)
    assert judgement.batch_spread == pytest.approx(math.expm1(medians.std(ddof=1)))
    least = student.ppf(0.99, 15) * medians.std(ddof=1) / 4
    assert math.log(judgement.ratio.high / judgement.ratio.low) >= 2 * least * (1 - 1e-9)
    assert judgement.verdict is Verdict.FASTER
    assert judgement.blocks is None


def test_two_batches_of_different_levels_have_wide_intervals() -> None:
    noise = Noise(level=0.01, spread=0.001)
    said = covered = 0
    for seed in range(40):
        reference, candidate, _, look = noise.pairs(np.random.default_rng(seed), 64, 1.0)
        judgement = assess(reference, candidate, batch=look)
        if judgement.batch_spread is not None:
            said += judgement.verdict is not Verdict.INCONCLUSIVE
            covered += judgement.ratio.low <= 1.0 <= judgement.ratio.high
    assert said <= 4
    assert covered >= 30


def test_two_different_batches_have_a_bounded_ratio() -> None:
    look = np.repeat([0, 1], 16)
    judgement = assess(np.where(look == 0, 1e-20, 1e20), np.ones(32), batch=look)
    assert judgement.ratio.is_bounded
    assert judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("noise", [Noise(), Noise(rho=0.8), Noise(rho=0.5, own=True)])
def test_noise_without_levels_rarely_has_levels(noise: Noise) -> None:
    found = 0
    for seed in range(200):
        reference, candidate, _, look = noise.pairs(np.random.default_rng(seed), 256, 1.0)
        found += assess(reference, candidate, batch=look).batch_spread is not None
    # Two to ten are expected; eleven of two at 0.01 have a probability below 1e-4.
    assert found <= 10


def test_constant_batches_have_levels_only_if_they_differ() -> None:
    look = np.repeat(np.arange(3), 8)
    for values, p_value in ((np.zeros(24), 1.0), (look / 100.0, 0.0)):
        levels = find_batch_levels(values, look)
        assert levels is not None
        assert levels.p_value == p_value


def test_looks_of_three_pairs_have_no_levels() -> None:
    assert find_batch_levels(np.arange(9.0), np.repeat(np.arange(3), 3)) is None


def test_find_batch_levels_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="expected 3 batch numbers, got 2"):
        find_batch_levels(np.zeros(3), np.zeros(2, int))
