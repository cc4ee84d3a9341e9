"""The spread of one side of pairs compared with the other: found if real, and not by chance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from metalbench.stats import spread_ratio

PAIRS = 256
TRIES = 400


def disturbed(random: np.random.Generator) -> NDArray[np.float64]:
    """Return factors that slow both halves of a pair, in one pair of eight by a large factor."""
    steps = np.convolve(random.normal(0, 0.01, PAIRS + 7), np.ones(8) / 8, "valid")
    return np.asarray(np.exp(steps + 0.2 * (random.random(PAIRS) < 0.125)), np.float64)


NOISES = {
    "normal": lambda random: random.normal(0, 1, PAIRS),
    "skewed": lambda random: random.exponential(1, PAIRS),
    "with hiccups": lambda random: random.standard_t(2, PAIRS),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shared", [False, True], ids=["alone", "disturbed"])
def test_sides_of_equal_spread_are_rarely_found_different(noise: str, shared: bool) -> None:
    random = np.random.default_rng(11)
    steadier = 0
    for _ in range(TRIES):
        together = disturbed(random) if shared else np.ones(PAIRS)
        one, other = (
            scale * together * np.exp(0.02 * NOISES[noise](random)) for scale in (1000.0, 400.0)
        )
        steadier += spread_ratio(one, other).low > 1.0
    # One side of a 98 % interval; three standard deviations of the count more.
    assert steadier <= 0.01 * TRIES + 3 * np.sqrt(0.01 * TRIES)


@pytest.mark.parametrize("noise", NOISES)
def test_spread_ratio_finds_a_doubled_spread(noise: str) -> None:
    random = np.random.default_rng(12)
    found = [
        spread_ratio(np.exp(0.04 * NOISES[noise](random)), np.exp(0.02 * NOISES[noise](random)))
        for _ in range(40)
    ]
    assert sum(each.low > 1.1 for each in found) >= 36
    assert np.median([each.value for each in found]) == pytest.approx(2.0, rel=0.1)


def test_the_other_way_round_is_the_inverse() -> None:
    random = np.random.default_rng(13)
    one, other = (np.exp(scale * random.normal(0, 1, PAIRS)) for scale in (0.05, 0.01))
    there, back = spread_ratio(one, other), spread_ratio(other, one)
    assert there.value == pytest.approx(1 / back.value)
    assert (there.low, there.high) == pytest.approx((1 / back.high, 1 / back.low))


def test_negligible_spreads_are_equal() -> None:
    random = np.random.default_rng(14)
    one, other = (np.exp(scale * random.normal(0, 1, PAIRS)) for scale in (2e-4, 1e-5))
    assert spread_ratio(one, other).value == 1.0


def test_spread_ratio_of_few_pairs_is_unbounded() -> None:
    assert not spread_ratio(np.array([1.0, 1.1, 0.9]), np.array([1.0, 1.2, 0.9])).is_bounded
