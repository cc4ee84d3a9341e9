"""Chance differences among many tasks do not survive, real ones do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from metalbench.stats import (
    MARGIN,
    Verdict,
    benjamini_hochberg,
    control_false_discoveries,
    judge,
    ratio_interval,
    ratio_p_value,
)

FASTER, SLOWER, SAME = Verdict.FASTER, Verdict.SLOWER, Verdict.SAME


def pairs(seed: int, ratio: float, count: int = 128) -> tuple[np.ndarray, np.ndarray]:
    noise = np.random.default_rng(seed).normal(0.0, 0.02, (2, count))
    return ratio * np.exp(noise[0]), np.exp(noise[1])


@pytest.mark.parametrize("seed", range(5))
def test_benjamini_hochberg_agrees_with_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).beta(0.3, 2.0, 40)
    assert (
        benjamini_hochberg(values.tolist()).tolist()
        == (false_discovery_control(values) <= 0.05).tolist()
    )


def test_control_false_discoveries_rejects_a_lone_weak_difference() -> None:
    assert control_false_discoveries([FASTER], [0.02]) == [FASTER]
    alone = control_false_discoveries([FASTER] + [SAME] * 19, [0.02] + [1.0] * 19)
    assert alone == [Verdict.INCONCLUSIVE] + [SAME] * 19
    assert control_false_discoveries([FASTER, SLOWER] * 10, [0.02] * 20) == [FASTER, SLOWER] * 10


def test_control_false_discoveries_keeps_inconclusive_and_same() -> None:
    verdicts = [Verdict.INCONCLUSIVE, SAME]
    assert control_false_discoveries(verdicts, [0.5, 1.0]) == verdicts
    assert control_false_discoveries([], []) == []


def test_every_verdict_needs_its_p_value() -> None:
    with pytest.raises(ValueError, match="p-value for each of 2 verdicts, got 1"):
        control_false_discoveries([SAME, SAME], [0.1])


@pytest.mark.parametrize("ratio", [0.95, 0.98, 1.0, 1.02, 1.05])
def test_p_values_and_intervals_say_the_same(ratio: float) -> None:
    for seed in range(40):
        reference, candidate = pairs(seed, ratio)
        p_value = ratio_p_value(reference, candidate, MARGIN)
        differs = judge(ratio_interval(reference, candidate)) in (FASTER, SLOWER)
        assert differs == (p_value <= 0.02)


def test_ratio_p_values_at_the_margin_are_uniform() -> None:
    values = [ratio_p_value(*pairs(seed, 1.0 + MARGIN), MARGIN) for seed in range(400)]
    # One side of two can be met: 20 expected at 0.1, more than 36 has a probability below 1e-3.
    assert sum(value <= 0.1 for value in values) <= 36


def test_p_value_of_too_few_pairs_is_large() -> None:
    assert ratio_p_value(np.array([2.0, 2.0]), np.array([1.0, 1.0]), MARGIN) >= 0.5
