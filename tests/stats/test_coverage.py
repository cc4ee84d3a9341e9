"""Whole measurements of noise like that of real machines keep what they promise.

The long form (`pytest -m slow tests/stats`) has 2000 trials of everything, the short one few.
"""

from __future__ import annotations

import numpy as np
import pytest
from noise import Noise
from scipy.stats import binom
from simulation import Tally

TRIALS = 2000
SHORT_TRIALS = 40
# Pairs that the time allows: a slow kernel's, a usual one's, a very fast one's.
LIMITS = (16, 64, 900, 4096)

# Candidate and reference share the machine's weather, and with it its noise.
SHARED = {
    "independent": Noise(),
    "AR(1) 0.5": Noise(rho=0.5),
    "AR(1) 0.8": Noise(rho=0.8),
    "AR(1) 0.95": Noise(rho=0.95),
    "walk of 0.05 %": Noise(drift=0.0005),
    "walk of 0.2 %": Noise(drift=0.002),
    "walk of 0.2 %, else quiet": Noise(drift=0.002, spread=0.002),
    "two clocks": Noise(slow_share=0.3, spread=0.005),
    "two clocks, changing fast": Noise(slow_share=0.3, spread=0.005, dwell=1.0),
    "ticks of 0.1 %": Noise(tick_ns=1000.0, spread=0.0005),
    "ticks of 0.5 %": Noise(tick_ns=5000.0, spread=0.001),
    "ticks of 0.5 % and nothing else": Noise(tick_ns=5000.0, spread=0.00001),
}
# Each with independent noise, which no pairing cancels; a correlation that is long compared with
# the whole run cannot be distinguished from a difference.
OWN = {
    "own, independent": (Noise(own=True), 16),
    "own, AR(1) 0.5": (Noise(rho=0.5, own=True), 16),
    "own, AR(1) 0.8": (Noise(rho=0.8, own=True), 64),
    "own, AR(1) 0.95": (Noise(rho=0.95, own=True), 64),
}
# A run of three correlation times; its blocks always have an interval.
SHORT_OF = {"own, AR(1) 0.95, 64 pairs": 0.9}
CASES = {
    f"{name}, {limit} pairs": (noise, limit)
    for name, (noise, least) in {**{k: (v, 0) for k, v in SHARED.items()}, **OWN}.items()
    for limit in LIMITS
    if limit >= least
}


def at_least(part: float, trials: int) -> float:
    """Return the fraction of trials that a true fraction `part` falls below once in a thousand."""
    return float(binom.ppf(1e-3, trials, part)) / trials


def check(tally: Tally, trials: int) -> None:
    assert tally.covered >= at_least(0.95, trials)
    assert 1.0 - tally.faster >= at_least(0.95, trials)
    assert 1.0 - tally.slower >= at_least(0.95, trials)


@pytest.mark.parametrize("name", SHARED)
def test_equal_kernels_are_not_found_different_and_their_ratio_is_covered(name: str) -> None:
    check(Tally.of(SHARED[name], 1.0, 300, SHORT_TRIALS), SHORT_TRIALS)


@pytest.mark.parametrize("name", OWN)
def test_nor_are_kernels_with_a_noise_each(name: str) -> None:
    check(Tally.of(OWN[name][0], 1.0, 300, SHORT_TRIALS), SHORT_TRIALS)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("ratio", [1.03, 1 / 1.03])
def test_a_difference_of_three_percent_is_found_or_left_open(name: str, ratio: float) -> None:
    tally = Tally.of(SHARED[name], ratio, 900, SHORT_TRIALS // 4)
    found, opposite = (tally.faster, tally.slower) if ratio > 1.0 else (tally.slower, tally.faster)
    assert found >= 0.9
    assert opposite == tally.same == 0.0


def test_the_test_finds_intervals_that_ignore_correlation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metalbench.stats.location.effective_sample_size", np.size)
    tally = Tally.of(Noise(rho=0.95, own=True), 1.0, 300, SHORT_TRIALS)
    assert tally.covered < at_least(0.95, SHORT_TRIALS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_all_of_it_over_two_thousand_trials(case: str) -> None:
    noise, limit = CASES[case]
    tally = Tally.of(noise, 1.0, limit, TRIALS)
    print(f"\n{case}: {tally}")
    assert tally.covered >= SHORT_OF.get(case, 0.95)
    assert tally.faster <= 0.05
    assert tally.slower <= 0.05
    # A walk has no true median, and one of 16 correlated samples says little.
    if limit >= 64 and not noise.drift and not noise.slow_share:
        assert tally.covered_candidate >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_a_true_three_percent_over_many_trials(name: str) -> None:
    tally = Tally.of(SHARED[name], 1.03, 900, TRIALS // 4)
    print(f"\n{name}: {tally}")
    assert tally.faster >= 0.95
    assert tally.slower == 0.0
    assert tally.covered >= 0.95
