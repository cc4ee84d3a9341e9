"""Every reason for silence is given where it holds, with what to do."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from noise import Noise

from metalbench.stats import (
    MARGIN,
    Cause,
    CrossCheck,
    Interval,
    Judgement,
    Verdict,
    assess,
    assess_suite,
)
from metalbench.stats.judgement import LONGEST, estimate_time_factor

random = np.random.default_rng(1)


def pairs(count: int, ratio: float, spread: float = 0.005) -> tuple[np.ndarray, np.ndarray]:
    noise = np.exp(random.normal(0.0, spread, (2, count)))
    return 100.0 * ratio * noise[0], 100.0 * noise[1]


def causes(judgement: Judgement) -> list[Cause]:
    return [reason.cause for reason in judgement.reasons]


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.1, Verdict.FASTER), (0.9, Verdict.SLOWER), (1.0, Verdict.SAME)]
)
def test_a_clear_verdict_has_no_reasons(ratio: float, verdict: Verdict) -> None:
    judgement = assess(*pairs(500, ratio))
    assert judgement.verdict is verdict
    assert judgement.reasons == ()
    assert judgement.effective_pairs > 250
    assert (judgement.p_value < 0.02) == (verdict is not Verdict.SAME)


def test_a_few_pairs_carry_no_interval() -> None:
    judgement = assess(*pairs(5, 2.0))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert causes(judgement) == [Cause.FEW]
    assert judgement.drift is judgement.cross_check is None


def test_noise_makes_the_interval_wide_and_says_how_long_would_do() -> None:
    judgement = assess(*pairs(100, 1.0, spread=0.1))
    assert causes(judgement) == [Cause.WIDE]
    assert "% wide, for a margin of 1.0%" in judgement.reasons[0].seen
    assert "times as long" in judgement.reasons[0].remedy
    assert str(judgement.reasons[0]).count(";") == 1


def test_an_absurdly_long_time_is_not_a_remedy() -> None:
    (reason,) = assess(*pairs(50, 1.0, spread=1.0)).reasons
    assert reason.cause is Cause.WIDE
    assert "times as long" not in reason.remedy


@pytest.mark.parametrize(
    ("low", "value", "high", "times"),
    [
        (1.005, 1.03, 1.055, 2),  # 2.5 % towards a margin that is 2 % away
        (0.97, 1.03, 1.09, 9),
        (0.91, 0.97, 1.03, 9),
        (0.98, 1.0, 1.02, 4),
        (0.95, 0.995, 1.02, 81),
        (0.50, 3.0, 9.0, 2),
        (0.99, 1.0099, 1.03, LONGEST + 1),
        (0.99, 1.01, 1.03, LONGEST + 1),
    ],
)
def test_estimate_time_factor_uses_the_distance_to_the_margin(
    low: float, value: float, high: float, times: int
) -> None:
    assert estimate_time_factor(Interval(value, low, high), MARGIN) == times


def test_so_many_times_the_pairs_do_decide() -> None:
    (reason,) = assess(*pairs(100, 1.04, spread=0.1)).reasons
    told = re.search(r"about (\d+) times", reason.remedy)
    assert told is not None
    assert 1 < int(told[1]) <= 10
    # Where the estimate was off by much, so is the advice.
    decided = [assess(*pairs(300 * int(told[1]), 1.04, spread=0.1)).verdict for _ in range(8)]
    assert decided.count(Verdict.FASTER) >= 6


def test_a_ratio_at_the_margin_has_a_reason() -> None:
    judgement = assess(*pairs(1000, 1.01))
    assert causes(judgement) == [Cause.STRADDLES]
    assert "at the margin of 1.0%: 1.0" in judgement.reasons[0].seen


def test_a_ratio_that_drifts_across_the_margin_is_inconclusive() -> None:
    reference, candidate = pairs(600, 1.03)
    judgement = assess(reference * np.exp(np.linspace(-0.04, 0.04, 600)), candidate)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert Cause.DRIFT in causes(judgement)
    assert "drifted by +8" in "".join(reason.seen for reason in judgement.reasons)


def test_a_drift_far_from_the_margin_keeps_the_verdict() -> None:
    reference, candidate = pairs(600, 3.0)
    judgement = assess(reference * np.exp(np.linspace(-0.04, 0.04, 600)), candidate)
    assert judgement.verdict is Verdict.FASTER
    assert judgement.drift is not None
    assert judgement.drift.is_significant


def test_a_drift_far_from_the_margin_keeps_the_verdict_in_a_suite() -> None:
    reference, candidate = pairs(600, 3.0)
    judgement = assess(reference * np.exp(np.linspace(-0.04, 0.04, 600)), candidate)
    assert judgement.p_value < 1e-6
    assert assess_suite([judgement]) == [judgement]


def test_a_drift_of_both_does_not_matter() -> None:
    reference, candidate = pairs(600, 1.03)
    trend = np.exp(np.linspace(0.0, 0.5, 600))
    assert assess(reference * trend, candidate * trend).verdict is Verdict.FASTER


def test_two_modes_on_both_sides_of_the_reference_are_inconclusive() -> None:
    reference, candidate = pairs(600, 1.05)
    candidate[random.random(600) < 0.3] *= 1.2
    judgement = assess(reference, candidate)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert causes(judgement) == [Cause.MODES]
    assert [round(mode.share, 1) for mode in judgement.modes] == [0.3, 0.7]
    assert "2 usual values: 0.87" in judgement.reasons[0].seen


def test_a_candidate_faster_in_both_its_modes_is_faster() -> None:
    reference, candidate = pairs(600, 2.0)
    candidate[random.random(600) < 0.3] *= 1.2
    judgement = assess(reference, candidate)
    assert judgement.verdict is Verdict.FASTER
    assert len(judgement.modes) == 2


def test_modes_of_the_machine_are_compared_with_each_other() -> None:
    noise = Noise(slow_share=0.3, spread=0.005, dwell=1.0)
    judgement = assess(*noise.pairs(np.random.default_rng(4), 800, 1.05)[:2])
    assert judgement.verdict is Verdict.FASTER
    assert [np.exp(mode.value) for mode in judgement.modes] == pytest.approx([1.05] * 2, abs=0.005)


def test_a_contradicting_cross_check_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = CrossCheck(Interval(1.1, 0.98, 1.2), p_above=0.2, p_below=0.8, blocks=12)
    monkeypatch.setattr("metalbench.stats.pairs.cross_check", lambda _: unsure)
    judgement = assess(*pairs(500, 1.1))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert causes(judgement) == [Cause.CROSS_CHECK]
    assert "median says FASTER" in judgement.reasons[0].seen
    assert "p = 0.2" in judgement.reasons[0].seen


def test_a_chance_finding_among_many_has_a_reason() -> None:
    barely = next(
        judgement
        for judgement in (assess(*pairs(64, 1.014)) for _ in range(500))
        if judgement.verdict is Verdict.FASTER and judgement.p_value > 0.01
    )
    same = assess(*pairs(500, 1.0))
    suite = assess_suite([barely] + [same] * 19)
    assert suite[0].verdict is Verdict.INCONCLUSIVE
    assert causes(suite[0]) == [Cause.DISCOVERY]
    assert "among 20 tasks" in suite[0].reasons[0].seen
    assert suite[1:] == [same] * 19
    assert assess_suite([barely]) == [barely]


def test_drifting_or_bimodal_pairs_are_not_counted_as_suite_tests() -> None:
    barely = replace(assess(*pairs(500, 1.1)), p_value=0.019)
    reference, candidate = pairs(600, 1.03)
    drifting = assess(reference * np.exp(np.linspace(-0.04, 0.04, 600)), candidate)
    assert drifting.verdict is Verdict.INCONCLUSIVE
    assert not drifting.is_decided_by_interval
    # One of three at 0.019 is chance, one alone is not; whatever drifts is neither for nor against.
    assert assess_suite([barely] + [drifting] * 19) == [barely] + [drifting] * 19
    assert assess_suite([replace(drifting, p_value=0.001)] * 19 + [barely])[-1] == barely
    noise = np.exp(np.random.default_rng(3).normal(0.0, 0.1, (2, 100)))
    wide = assess(noise[0], noise[1])
    assert causes(wide) == [Cause.WIDE]
    assert wide.is_decided_by_interval
    assert assess_suite([barely, wide, wide])[0].verdict is Verdict.INCONCLUSIVE


def test_a_probability_of_one_is_not_printed_as_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    opposite = CrossCheck(Interval(0.9, 0.85, 0.98), p_above=1.0, p_below=0.0, blocks=12)
    monkeypatch.setattr("metalbench.stats.pairs.cross_check", lambda _: opposite)
    (reason,) = assess(*pairs(500, 1.1)).reasons
    assert "p = 1" not in str(reason)
    assert "signed ranks point the other way" in reason.seen


def test_no_pairs_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        assess(np.array([]), np.array([]))
