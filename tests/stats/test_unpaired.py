"""Ratios of runs that were not paired."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metalbench.stats import CONFIDENCE, Cause, Interval, Verdict, median_interval
from metalbench.stats.unpaired import (
    ASSUMED_DEVIATION,
    RunSpread,
    assess_unpaired,
    estimate_run_spread,
)


def about(value: float, half_width: float) -> Interval:
    return Interval(value, value / (1 + half_width), value * (1 + half_width))


def test_the_interval_covers_the_true_ratio() -> None:
    random = np.random.default_rng(1)
    trials = 400
    covered = 0
    for _ in range(trials):
        first = median_interval(random.lognormal(0.0, 0.03, 200))
        second = median_interval(random.lognormal(math.log(0.9), 0.02, 200))
        ratio = assess_unpaired(first, second).ratio
        covered += ratio.low <= 1 / 0.9 <= ratio.high
    # Three deviations of the share below the confidence.
    least = CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / trials)
    assert covered / trials >= least


@pytest.mark.parametrize(
    ("earlier", "later", "verdict"),
    [
        (about(100, 0.004), about(90, 0.004), Verdict.FASTER),
        (about(90, 0.004), about(100, 0.004), Verdict.SLOWER),
        (about(100, 0.004), about(100, 0.004), Verdict.SAME),
        (about(100, 0.1), about(95, 0.1), Verdict.INCONCLUSIVE),
        (Interval(100, -math.inf, math.inf), about(50, 0.01), Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts_follow_the_interval(earlier: Interval, later: Interval, verdict: Verdict) -> None:
    judgement = assess_unpaired(earlier, later)
    assert judgement.verdict is verdict
    assert bool(judgement.reasons) == (verdict is Verdict.INCONCLUSIVE)


def test_the_p_value_agrees_with_the_interval() -> None:
    for factor in np.linspace(0.9, 1.1, 81):
        judgement = assess_unpaired(about(100, 0.02), about(100 / factor, 0.02))
        decided = judgement.verdict in (Verdict.FASTER, Verdict.SLOWER)
        assert decided == (judgement.p_value < 1 - CONFIDENCE)


def test_picking_the_best_of_many_has_its_price() -> None:
    alone = assess_unpaired(about(100, 0.01), about(102.7, 0.01))
    picked = assess_unpaired(about(100, 0.01), about(102.7, 0.01), tries=50)
    assert alone.verdict is Verdict.SLOWER
    assert picked.verdict is Verdict.INCONCLUSIVE
    assert math.isclose(picked.p_value, 50 * alone.p_value)


def test_estimate_run_spread_exceeds_the_claimed_intervals() -> None:
    random = np.random.default_rng(2)
    scattered = [about(100 * math.exp(0.03 * random.standard_normal()), 0.002) for _ in range(50)]
    spread = estimate_run_spread([scattered, [about(5, 0.1)]])
    assert 0.02 < spread.deviation < 0.04
    assert (spread.repeats, spread.is_assumed) == (49, False)
    assert assess_unpaired(about(100, 0.002), about(97, 0.002)).verdict is Verdict.FASTER
    wide = assess_unpaired(about(100, 0.002), about(97, 0.002), between=spread)
    assert wide.verdict is Verdict.INCONCLUSIVE
    (reason,) = wide.reasons
    assert reason.cause is Cause.RUNS
    assert "its earlier runs show" in reason.seen
    assert "NAME@REVISION" in reason.remedy


def test_a_lasting_change_is_not_run_spread() -> None:
    before, after = [about(100, 0.01)] * 9, [about(50, 0.01)] * 9
    assert estimate_run_spread([before + after]) == RunSpread(0.0, 17)


def test_runs_that_agree_have_no_run_spread() -> None:
    assert estimate_run_spread([[about(100, 0.01), about(100.1, 0.01)] * 3]).deviation == 0.0


def test_few_repeats_do_not_prove_a_small_spread() -> None:
    assert estimate_run_spread([[about(100, 0.01)], []]) == RunSpread(ASSUMED_DEVIATION, 0)
    assert estimate_run_spread([[about(100, 0.01)] * 3]) == RunSpread(ASSUMED_DEVIATION, 2)
    assert estimate_run_spread([[about(100, 0.01)] * 5]) == RunSpread(0.0, 4)
    twice = estimate_run_spread([[about(100, 0.001), about(110, 0.001)]])
    assert twice.deviation > ASSUMED_DEVIATION
    assert twice.is_assumed


def test_wide_intervals_of_runs_are_not_run_spread() -> None:
    judgement = assess_unpaired(about(100, 0.1), about(95, 0.1), between=RunSpread(0.01, 0))
    assert [reason.cause for reason in judgement.reasons] == [Cause.WIDE]
