"""A clock's ticks are seen where they matter, and the interval allows for them."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.stats import clock_resolution, median_interval, ratio_interval

TICK = 41.67
random = np.random.default_rng(3)


def read(time: float, count: int, spread: float = 1e-6) -> np.ndarray:
    """Times between two moments, each measured by the last tick."""
    times = time * np.exp(random.normal(0.0, spread, count))
    return TICK * np.floor(times / TICK + random.random(count))


def test_clock_resolution_is_the_tick() -> None:
    time = 1000.4 * TICK
    assert clock_resolution(read(time, 200)) == pytest.approx(TICK / time, rel=1e-3)


def test_clock_resolution_ignores_rounding_of_float64_seconds() -> None:
    times = read(1000.4 * TICK, 200) + random.uniform(-1e-3, 1e-3, 200)
    assert clock_resolution(times) == pytest.approx(1e-3, rel=1e-2)


def test_a_fine_clock_has_none() -> None:
    assert clock_resolution(random.lognormal(0.0, 0.02, 500)) == 0.0


def test_noise_of_many_ticks_hides_them() -> None:
    assert clock_resolution(read(1000.4 * TICK, 500, spread=0.02)) == 0.0


@pytest.mark.parametrize("times", [[5.0], [5.0] * 30, [5.0] * 29 + [90.0], [5.0] * 20 + [7.0] * 9])
def test_clock_resolution_is_zero_for_constants_outliers_and_modes(times: list[float]) -> None:
    assert clock_resolution(np.array(times)) == 0.0


@pytest.mark.parametrize("part", [0.05, 0.25, 0.45, 0.55, 0.75, 0.95])
def test_a_time_between_two_ticks_is_covered(part: float) -> None:
    time = (1000.0 + part) * TICK
    interval = median_interval(read(time, 1000))
    assert interval.low <= time <= interval.high
    assert interval.relative_half_width <= 1e-3


@pytest.mark.parametrize("part", [0.05, 0.25, 0.45, 0.55, 0.75, 0.95])
def test_a_ratio_of_such_times_is_covered(part: float) -> None:
    ours, theirs = 1000.3 * TICK, (1000.0 + part) * TICK
    interval = ratio_interval(read(theirs, 1000), read(ours, 1000))
    assert interval.low <= theirs / ours <= interval.high
    assert interval.high - interval.low < 0.005
