"""Two usual values are found, one that merely looks like two is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from noise import Noise

from metalbench.stats import find_modes

RUNS = 100
random = np.random.default_rng(11)


def mixture(count: int, slow_share: float, slow: float, spread: float) -> np.ndarray:
    slow_ones = random.random(count) < slow_share
    return random.normal(0.0, spread, count) + math.log(slow) * slow_ones


@pytest.mark.parametrize("slow_share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("slow", [1.05, 1.5, 40.0])
def test_find_modes_returns_value_and_share_of_both_modes(slow_share: float, slow: float) -> None:
    fast, other = find_modes(mixture(500, slow_share, slow, 0.005))
    assert fast.value == pytest.approx(0.0, abs=0.002)
    assert other.value == pytest.approx(math.log(slow), abs=0.002)
    assert other.share == pytest.approx(slow_share, abs=0.07)
    assert fast.share + other.share == pytest.approx(1.0)


def test_three_modes_are_three() -> None:
    values = np.concatenate([mixture(300, 0.5, 1.1, 0.004), random.normal(0.2, 0.004, 150)])
    assert len(find_modes(random.permutation(values))) == 3


@pytest.mark.parametrize("draw", ["normal", "laplace", "uniform", "lognormal"])
@pytest.mark.parametrize("count", [32, 64, 1000])
def test_find_modes_finds_one_mode_of_unimodal_noise(draw: str, count: int) -> None:
    shapes = {
        "normal": lambda: random.normal(0, 0.02, count),
        "laplace": lambda: random.laplace(0, 0.02, count),
        "uniform": lambda: random.uniform(-0.03, 0.03, count),
        "lognormal": lambda: 0.02 * random.lognormal(0, 0.7, count),
    }
    several = sum(len(find_modes(shapes[draw]())) > 1 for _ in range(RUNS))
    # At 1 %, 6 or more of 100 have a probability below 1e-3.
    assert several < 6


@pytest.mark.parametrize("rho", [0.8, 0.95])
def test_a_wandering_series_has_no_modes(rho: float) -> None:
    series = [Noise(rho=rho).series(np.random.default_rng(seed), 500) for seed in range(RUNS)]
    assert sum(len(find_modes(each)) > 1 for each in series) < 6


def test_outliers_are_not_a_mode() -> None:
    values = random.normal(0.0, 0.005, 200)
    values[::20] += 1.0
    (mode,) = find_modes(values)
    assert mode.share == 1.0
    assert mode.value == pytest.approx(0.0, abs=0.002)


def test_modes_too_near_to_matter_are_one() -> None:
    assert len(find_modes(mixture(2000, 0.5, 1.006, 0.0003))) == 1


@pytest.mark.parametrize("tick", [0.001, 0.009, 0.02])
def test_clock_ticks_are_not_modes(tick: float) -> None:
    values = tick * np.rint(random.normal(0.3, 0.6, 800))
    assert len(find_modes(values, resolution=tick)) == 1


def test_two_modes_on_a_coarse_clock_are_two() -> None:
    values = 0.005 * np.rint(mixture(500, 0.4, 1.1, 0.004) / 0.005)
    assert len(find_modes(values, resolution=0.005)) == 2


@pytest.mark.parametrize("values", [[3.0], [3.0] * 50, [1.0, 2.0]])
def test_constant_and_tiny_series_have_one(values: list[float]) -> None:
    (mode,) = find_modes(np.array(values))
    assert mode.value == pytest.approx(np.median(values))
