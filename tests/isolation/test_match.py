"""A contest of two kernels in a process of its own, whatever the candidate does there."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench import _core
from metalbench.comparison.match import Match, Outcome
from metalbench.isolation import Limits, Workers
from metalbench.isolation.encoding import decode, encode
from metalbench.kernel import Kernel, parse
from metalbench.kernel.library import Library
from metalbench.measure import Plan
from metalbench.run.observed import device_facts
from metalbench.run.stages import Silent, Stage
from metalbench.stats import Verdict

TASK = '''
"""Twice the input."""

from metalbench.task import normal, output, task

@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=77), seed=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    headline="seed",
)
def twice(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(64)
// tune: WORK = 0, 400
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) v = fma(v, 1.0000001f, 1e-30f);
  y[i] = v == 12345.0f ? 0.0f : 2 * x[i];
}
"""
QUICK = Plan(seconds=0.1, warmup_ns=0, min_pairs=12, first_look=32, look_pairs=8)
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
    (tmp_path / "twice.py").write_text(TASK)
    (tmp_path / "twice.metal").write_text(KERNEL)
    return tmp_path


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


def played(given: Match, limits: Limits | None = None) -> tuple[Outcome, list[Stage]]:
    stages = Stages()
    with Workers("cpu", limits or Limits(60)) as workers:
        outcome = workers.play(device_facts(_core.open("cpu")), given, stages)
    return outcome, stages.seen


def test_a_right_candidate_is_verified_throughout_and_timed(folder: Path) -> None:
    outcome, stages = played(match(folder, work=(400, 0)))
    assert outcome.failure is None
    measured = outcome.measurement
    assert measured is not None
    assert measured.verdict is Verdict.FASTER
    assert measured.ratio is not None
    assert measured.ratio.low > 2
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
def test_what_is_wrong_with_a_candidate_is_told_and_not_timed(folder: Path, part: str) -> None:
    wrong, kind = CANDIDATES[part]
    source = KERNEL.replace(part, wrong).replace("uint i", "constant uint& n, uint i")
    outcome, stages = played(match(folder, source))
    assert outcome.failure is not None
    assert outcome.failure.kind == kind, outcome.failure
    assert Stage.MEASURE not in stages
    assert (outcome.measurement, outcome.measured_from) == (None, None)


def test_a_process_that_takes_too_long_is_an_outcome(folder: Path) -> None:
    outcome, _ = played(match(folder), Limits(0.2))
    assert outcome.failure is not None
    assert outcome.failure.kind == "TIME_LIMIT"
    assert "--kernel-timeout" in outcome.failure.message


def test_matches_come_back_as_they_were(folder: Path) -> None:
    given = match(folder)
    assert decode(encode(given, Match), Match) == given
