"""Judging again and again until a verdict is settled is no more often wrong than judging once.

The long form (`pytest -m slow tests/stats`) has 2000 trials of everything, the short one few.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from noise import Noise, Process
from scipy.stats import binom

from metalbench.stats import Interval, StoppingRule, Verdict, assess
from metalbench.stats.stopping import is_settled

TRIALS = 2000
SHORT_TRIALS = 40
LIMITS = (160, 900)  # a slow kernel's pairs, and a usual one's
# Of a slower one: in all, which are eight looks.
SLOW = (32, 64, 128)
# Noise that stays for twenty pairs is not seen to be correlated in so few, by whatever rule.
TOO_FEW = {
    (name, limit)
    for name in ("own, AR(1) 0.95", "one side alone, AR(1) 0.9, 5 %")
    for limit in SLOW[:2]
}
FALSE_VERDICTS = 0.05
NOISES = {
    "independent": Noise(),
    "AR(1) 0.8": Noise(rho=0.8),
    "own, independent": Noise(own=True),
    "own, independent, 10 %": Noise(own=True, spread=0.1),
    "own, AR(1) 0.5": Noise(rho=0.5, own=True),
    "own, AR(1) 0.8": Noise(rho=0.8, own=True),
    "own, AR(1) 0.8, 5 %": Noise(rho=0.8, own=True, spread=0.05),
    "own, AR(1) 0.95": Noise(rho=0.95, own=True),
    "one side alone, AR(1) 0.9, 5 %": Noise(spread=0.003, alone=Process(rho=0.9, spread=0.05)),
    "level per look of 3 %": Noise(level=0.03),
    "second 2 % slower": Noise(second=0.02),
}


@dataclass(frozen=True)
class Ended:
    verdict: Verdict
    ratio: Interval
    pairs: int
    early: bool


def measured(
    noise: Noise,
    ratio: float,
    limit: int,
    seed: int,
    rule: StoppingRule | None = None,
    *,
    late: bool = False,
) -> Ended:
    """Look at 128, 192, 288, ... pairs until they are enough, or time is up after `limit` pairs."""
    reference, candidate, first, look = noise.pairs(np.random.default_rng(seed), limit, ratio)
    rule = rule or StoppingRule()
    taken, enough = 0, False
    while not enough and taken < limit:
        taken = min(rule.next_analysis(taken), limit)
        times, others = candidate[:taken], reference[:taken]
        judgement = assess(others, times, candidate_first=first[:taken], batch=look[:taken])
        enough = rule.analyse(times, others / times, judgement=judgement, late=late)
    return Ended(judgement.verdict, judgement.ratio, taken, rule.settled and taken < limit)


def outcomes(noise: Noise, ratio: float, limit: int, trials: int) -> list[Ended]:
    if limit not in SLOW:
        return [measured(noise, ratio, limit, seed) for seed in range(trials)]
    step = limit // 8
    noise, rule = replace(noise, look_pairs=step), StoppingRule(4 * step, step=step)
    return [measured(noise, ratio, limit, seed, replace(rule)) for seed in range(trials)]


def told_apart(ended: list[Ended]) -> int:
    found = Counter(each.verdict for each in ended)
    return found[Verdict.FASTER] + found[Verdict.SLOWER]


def covered(ended: list[Ended], ratio: float) -> int:
    return sum(each.ratio.low <= ratio <= each.ratio.high for each in ended)


@pytest.mark.parametrize("name", NOISES)
def test_a_kernel_against_itself_is_rarely_found_different(name: str) -> None:
    ended = outcomes(NOISES[name], 1.0, 300, SHORT_TRIALS)
    assert told_apart(ended) <= binom.ppf(1 - 1e-3, SHORT_TRIALS, FALSE_VERDICTS)


@pytest.mark.parametrize("limit", SLOW[1:])  # so few as the first are never enough
def test_a_slow_kernel_is_found_after_half_of_its_pairs(limit: int) -> None:
    for name in ("independent", "own, independent"):
        ended = outcomes(NOISES[name], 3.0, limit, SHORT_TRIALS // 2)
        assert {each.verdict for each in ended} == {Verdict.FASTER}
        assert np.median([each.pairs for each in ended]) == limit // 2


@pytest.mark.parametrize("name", ["independent", "AR(1) 0.8", "own, independent", "own, AR(1) 0.5"])
def test_ten_percent_are_found_soon(name: str) -> None:
    ended = outcomes(NOISES[name], 1.1, 900, SHORT_TRIALS // 2)
    assert {each.verdict for each in ended} == {Verdict.FASTER}
    assert np.median([each.pairs for each in ended]) <= 128
    assert all(each.early for each in ended)


def test_levels_would_be_taken_for_differences_after_two_looks() -> None:
    noise, trials = NOISES["level per look of 3 %"], 150

    def false(first_look: int) -> int:
        rule = StoppingRule(first_analysis=first_look)
        return told_apart(
            [measured(noise, 1.0, 160, seed, replace(rule)) for seed in range(trials)]
        )

    assert false(StoppingRule.first_analysis) <= binom.ppf(1 - 1e-3, trials, 0.02)
    assert false(64) > false(StoppingRule.first_analysis)


def test_is_settled_needs_more_than_the_usual_confidence() -> None:
    pairs = Noise().pairs(np.random.default_rng(0), 300, 1.1)
    faster = assess(pairs.reference, pairs.candidate)
    assert is_settled(faster)
    assert not is_settled(replace(faster, p_value=0.01))
    same = assess(pairs.reference / 1.1, pairs.candidate)
    assert (same.verdict, is_settled(same)) == (Verdict.SAME, True)
    # Just within the margin of 1 % at 98 %, beyond it at 99.9 %.
    assert not is_settled(replace(same, ratio=Interval(1.0, 0.991, 1.009)))
    assert not is_settled(replace(same, batch_spread=0.01))


def test_is_settled_needs_more_than_few_pairs() -> None:
    reference, candidate, *_ = Noise().pairs(np.random.default_rng(0), 20, 3.0)
    judgement = assess(reference, candidate)
    assert judgement.verdict is Verdict.FASTER
    assert not is_settled(judgement)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit"), [(n, m) for n in NOISES for m in LIMITS + SLOW])
def test_false_verdicts_over_two_thousand_trials(name: str, limit: int) -> None:
    ended = outcomes(NOISES[name], 1.0, limit, TRIALS)
    early, pairs = np.mean([each.early for each in ended]), np.mean([each.pairs for each in ended])
    false, within = told_apart(ended) / TRIALS, covered(ended, 1.0) / TRIALS
    print(f"\n{name}, {limit}: false {false:.2%}, covered {within:.2%}, {early:.0%}, {pairs:.0f}")
    if (name, limit) in TOO_FEW:
        assert early <= 0.02  # no look, but the end of the time
        return
    assert false <= FALSE_VERDICTS
    assert within >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.03, 1.1, 1 / 1.1])
@pytest.mark.parametrize("name", NOISES)
def test_true_differences_over_five_hundred_trials(name: str, ratio: float) -> None:
    ended = outcomes(NOISES[name], ratio, 900, TRIALS // 4)
    right = Verdict.FASTER if ratio > 1.0 else Verdict.SLOWER
    found = Counter(each.verdict for each in ended)
    wrong = len(ended) - found[right] - found[Verdict.INCONCLUSIVE]
    pairs, within = np.median([each.pairs for each in ended]), covered(ended, ratio) / len(ended)
    print(f"\n{name}, {ratio:.3f}: {found[right] / len(ended):.1%}, {wrong} wrong, {pairs} pairs")
    assert wrong <= 0.01 * len(ended)
    assert within >= 0.94


# Once enough time is spent, a large effect in each of eight blocks suffices.
CORRELATED = {
    "own, AR(1) 0.95, 10 %": Noise(rho=0.95, own=True, spread=0.1),
    "own, AR(1) 0.99, 10 %": Noise(rho=0.99, own=True, spread=0.1),
    "one side alone, AR(1) 0.98, 10 %": Noise(spread=0.003, alone=Process(rho=0.98, spread=0.1)),
    "level per look of 10 %": Noise(level=0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [56, 128])
@pytest.mark.parametrize("name", CORRELATED)
def test_late_sampling_rarely_ends_with_a_false_verdict(name: str, limit: int) -> None:
    step, trials = limit // 14, TRIALS // 4
    noise = replace(CORRELATED[name], look_pairs=step)
    ended = [
        measured(noise, 1.0, limit, seed, StoppingRule(4 * step, step=step), late=True)
        for seed in range(trials)
    ]
    false = told_apart([each for each in ended if each.early])
    print(f"\n{name}, {limit}: false and early {false / trials:.2%}")
    assert false <= binom.ppf(1 - 1e-3, trials, FALSE_VERDICTS)
