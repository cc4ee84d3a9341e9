"""Targets: better candidates by each target, and kernels that each target skips."""

from __future__ import annotations

import pytest

from agent_steel.attempt import TARGET_DESCRIPTIONS, Target, merit, misses, shortfall
from metalbench.stats import Interval, Verdict

FASTER = Verdict.FASTER, Interval(1.5, 1.4, 1.6)
SAME = Verdict.SAME, Interval(1.0, 0.995, 1.005)
UNSURE = Verdict.INCONCLUSIVE, Interval(1.0, 0.9, 1.1)
SLOWER = Verdict.SLOWER, Interval(0.8, 0.75, 0.85)
STEADIER, ALIKE, LESS = Interval(3, 2, 4), Interval(1, 0.7, 1.4), Interval(0.3, 0.2, 0.5)
NOT_SHOWN = Interval(1.5, 1.05, 2)
# Time, scatter, and for which targets that is better.
BETTER = [
    (FASTER, STEADIER, {"speed", "compute", "memory", "stable", "balanced"}),
    (FASTER, ALIKE, {"speed", "compute", "memory", "balanced"}),
    (FASTER, LESS, {"speed", "compute", "memory"}),
    (FASTER, None, {"speed", "compute", "memory", "balanced"}),
    (SAME, STEADIER, {"stable", "balanced"}),
    (SAME, NOT_SHOWN, set()),
    (SAME, ALIKE, set()),
    (UNSURE, STEADIER, set()),
    (SLOWER, STEADIER, set()),
    ((None, None), None, set()),
]


@pytest.mark.parametrize(("time", "steadiness", "targets"), BETTER)
def test_shortfall_is_empty_for_the_targets_that_a_candidate_meets(time, steadiness, targets):
    better = {each.value for each in Target if not shortfall(each, *time, steadiness)}
    assert better == targets


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize(("time", "steadiness", "targets"), BETTER)
def test_merit_of_a_kept_candidate_exceeds_one(target, time, steadiness, targets):
    if target.value in targets:
        assert merit(target, time[1], steadiness) > 1.0


def test_shortfall_names_the_reason():
    assert shortfall(Target.SPEED, *SAME, STEADIER) == "SAME, not FASTER"
    assert shortfall(Target.STABLE, *FASTER, ALIKE) == "FASTER, not steadier"
    assert shortfall(Target.STABLE, *UNSURE, STEADIER) == "steadier, but it may be slower"
    assert shortfall(Target.BALANCED, *FASTER, LESS) == "FASTER, but less steady"
    assert shortfall(Target.BALANCED, *SAME, ALIKE) == "SAME, neither FASTER nor steadier"


@pytest.mark.parametrize(
    ("target", "worked_on"),
    [
        (Target.SPEED, {"memory", "compute", "launch", "unknown"}),
        (Target.STABLE, {"memory", "compute", "launch", "unknown"}),
        (Target.BALANCED, {"memory", "compute", "launch", "unknown"}),
        (Target.MEMORY, {"memory", "unknown"}),
        (Target.COMPUTE, {"compute", "unknown"}),
    ],
)
def test_misses_selects_the_bounds_of_a_target(target, worked_on):
    bounds = ("memory", "compute", "launch", "unknown")
    assert {each for each in bounds if not misses(target, each)} == worked_on


def test_every_target_has_a_different_description():
    assert len(set(TARGET_DESCRIPTIONS.values())) == len(Target) == len(TARGET_DESCRIPTIONS)
