"""A contest of two kernels in a separate process, whatever the candidate does there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from work_in_vain import KERNEL, folder_with

from metalbench import _core
from metalbench.compare.head_to_head import (
    Match,
    MatchOutcome,
    WrongKernelError,
    require_measurement,
)
from metalbench.kernel.header import Kernel, parse
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Silent, Stage, device_facts
from metalbench.sandbox.encoding import decode, encode
from metalbench.sandbox.resources import Limits
from metalbench.stats import Verdict
from metalbench.workers.pool import Workers

WRONG = KERNEL.replace("2 * x[i]", "3 * x[i]")
QUICK = Plan(seconds=0.1, warmup_ns=0, min_pairs=12, first_analysis=32, batch_pairs=8)
# What is put in place of what, and what is found.
CANDIDATES = {
    "y[i] = v": ("y[i + n] = v", "GUARD_ZONE"),
    "2 * x[i]": ("3 * x[i]", "WRONG_RESULT"),
    "float v": ("flaot v", "COMPILE_ERROR"),
    "y[i] =": ("while (true) { y[i] += 1; } y[i] =", "TIME_LIMIT"),
    "float v = ": ("threadgroup float t; t = x[i]; float v = 0 * t + ", "RACE"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_with(tmp_path / "kernels")


class Stages(Silent):
    def __init__(self) -> None:
        self.seen: list[Stage] = []

    def stage_started(self, stage: Stage) -> None:
        self.seen.append(stage)


def match(folder: Path, source: str = KERNEL, *, work: tuple[int, int] = (0, 0)) -> Match:
    entry = Library([folder]).entry("twice")
    tunables = tuple({"WORK": each} for each in work)
    names = ("the best", "the candidate")
    after: Kernel = parse(source, name="twice", path=folder / "twice.metal")
    return Match(entry, entry.kernel(), after, names, plan=QUICK, tunables=tunables)  # type: ignore[arg-type]


def played(given: Match, limits: Limits | None = None) -> tuple[MatchOutcome, list[Stage]]:
    stages = Stages()
    with Workers("cpu", limits or Limits(60)) as workers:
        outcome = workers.play(device_facts(_core.open("cpu")), given, stages)
    return outcome, stages.seen


def test_a_right_candidate_is_verified_throughout_and_timed(folder: Path) -> None:
    outcome, stages = played(match(folder, work=(4000, 0)))
    assert outcome.failure is None
    measured = outcome.measurement
    assert measured is not None
    assert measured.verdict is not Verdict.SLOWER
    assert measured.ratio is not None
    assert measured.ratio.value > 2
    assert outcome.measured_from is not None
    assert outcome.measured_to is not None
    assert outcome.measured_from < outcome.measured_to
    assert stages == [
        Stage.VERIFY,
        Stage.CHECK,
        Stage.VERIFY_ALL,
        Stage.MEASURE,
        Stage.RECHECK,
    ]


@pytest.mark.parametrize("part", CANDIDATES)
def test_a_wrong_candidate_is_reported_and_not_timed(folder: Path, part: str) -> None:
    wrong, kind = CANDIDATES[part]
    source = KERNEL.replace(part, wrong).replace("uint i", "constant uint& n, uint i")
    outcome, stages = played(match(folder, source))
    assert outcome.failure is not None
    assert outcome.failure.kind == kind, outcome.failure
    assert Stage.MEASURE not in stages
    assert (outcome.measurement, outcome.measured_from) == (None, None)
    assert outcome.wrong in ("the candidate", None)


def test_the_wrong_one_of_two_kernels_is_named(folder: Path) -> None:
    right = match(folder)
    given = replace(right, before=replace(right.before, source=WRONG), knows_before=False)
    outcome, _ = played(replace(given, thorough=False))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.wrong) == ("WRONG_RESULT", "the best")
    with pytest.raises(WrongKernelError, match="the best is not correct"):
        require_measurement(given, outcome)


def test_a_match_beyond_the_time_limit_has_an_outcome(folder: Path) -> None:
    outcome, _ = played(match(folder), Limits(0.2))
    assert outcome.failure is not None
    assert outcome.failure.kind == "TIME_LIMIT"
    assert "--kernel-timeout" in outcome.failure.message


def test_encode_and_decode_round_trip_a_match(folder: Path) -> None:
    given = match(folder)
    assert decode(encode(given, Match), Match) == given
