"""The held-out gate: gains that hold only where a proposer looks are not kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_results import measurement
from steel.planted_wins import HONEST, PLANTS, START, folder_with
from steel_session import LONGER, Scripted, proposal, subject_of

from agent_steel.attempt import Status
from agent_steel.loop.held_out import HeldOutCases, draw_cases
from agent_steel.loop.settings import SearchSubject
from agent_steel.loop.verifier import Verifier, Version
from metalbench import _core
from metalbench.compare.head_to_head import Match, MatchOutcome, play
from metalbench.kernel.library import Library
from metalbench.run.trial import Observer
from metalbench.sandbox.executors import run_kernels_in_executors
from metalbench.sandbox.resources import Limits
from metalbench.store.result import DeviceFacts
from metalbench.task import Task, normal, output, task

SIZES = dict(small=dict(rows=8, cols=32), odd1=dict(rows=5, cols=33), seed=dict(rows=48, cols=64))


@pytest.fixture
def subject(tmp_path: Path) -> SearchSubject:
    return subject_of(folder_with(tmp_path / "kernels"), "rectify")


class VerifiedHere:
    """Plays matches in this process. Verification is real, and each time is half of the rival's."""

    def __init__(self) -> None:
        self.played: list[Match] = []

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        self.played.append(match)
        outcome = play(_core.open("cpu"), replace(match, timed=False), observer)
        if outcome.failure is not None or not match.timed:
            return outcome
        return replace(outcome, measurement=measurement(match.plan.seed))


@contextmanager
def sandboxed() -> Iterator[None]:
    with run_kernels_in_executors():
        yield


def judge(subject: SearchSubject, source: str, *, holds_out: bool = True) -> Any:
    """Judge a source with real verification and scripted times."""
    players = VerifiedHere()
    with sandboxed():
        found = Verifier(players, holds_out=holds_out).judge(
            subject,
            Version(subject.kernel, {}, "the best"),
            Version(replace(subject.kernel, source=source), {}, "the candidate"),
            number=7,
        )
    return found


WRONG = {name: each for name, each in PLANTS.items() if not each.is_slow}
SLOW = {name: each for name, each in PLANTS.items() if each.is_slow}


def test_there_are_twenty_planted_wins() -> None:
    assert len(PLANTS) >= 20
    assert sum(each.passes for each in PLANTS.values()) >= 15


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_planted_win_is_not_kept(name: str, subject: SearchSubject) -> None:
    plant = WRONG[name]
    found = judge(subject, plant.source)
    assert found.status is Status.WRONG, found
    if plant.passes:
        assert found.error.startswith("wrong in a held-out case")
        # Nothing tells which case it was.
        assert not any(letter.isdigit() for letter in found.error)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, each in WRONG.items() if each.passes])
def test_only_the_gate_finds_a_planted_win(name: str, subject: SearchSubject) -> None:
    assert judge(subject, WRONG[name].source, holds_out=False).status is Status.KEPT


@pytest.mark.parametrize("name", HONEST)
def test_verification_in_held_out_cases_passes_an_honest_gain(
    name: str, subject: SearchSubject
) -> None:
    assert judge(subject, HONEST[name]).status is Status.KEPT


# With real times. The short form has one of each kind.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if place == 2 else pytest.mark.slow)
        for place, name in enumerate(SLOW)
    ],
)
def test_a_planted_win_that_is_slow_elsewhere_is_not_kept(
    name: str, subject: SearchSubject, session: Any
) -> None:
    session([subject], Scripted([proposal(SLOW[name].source)]), real=Limits(60), plan=LONGER)
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is Status.REVERTED, attempt
    assert attempt.error.startswith("does not generalise: 0."), attempt.error
    assert attempt.ratio.low > 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if place == 0 else pytest.mark.slow)
        for place, name in enumerate(HONEST)
    ],
)
def test_an_honest_gain_is_kept(name: str, subject: SearchSubject, session: Any) -> None:
    session([subject], Scripted([proposal(HONEST[name])]), real=Limits(60), plan=LONGER)
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is Status.KEPT, attempt


@pytest.mark.slow
@pytest.mark.parametrize("name", ["has a limit for values", "ignores rows beyond the timed ones"])
def test_a_wrong_planted_win_is_not_kept_by_workers(
    name: str, subject: SearchSubject, session: Any
) -> None:
    session([subject], Scripted([proposal(PLANTS[name].source)]), real=Limits(60), plan=LONGER)
    *_, attempt = session.history.attempts(subject.place)
    assert (attempt.status, attempt.error[:25]) == (Status.WRONG, "wrong in a held-out case:"), (
        attempt.error
    )


def test_a_case_in_which_the_rival_fails_too_does_not_count(subject: SearchSubject) -> None:
    faulty = PLANTS["has a limit for values"].source
    both = replace(subject, kernel=replace(subject.kernel, source=faulty))
    assert judge(both, faulty).status is Status.KEPT


def test_the_gate_uses_other_cases_for_each_attempt(subject: SearchSubject) -> None:
    several = {draw_cases(subject.task, "seed", seed) for seed in range(8)}
    assert len({each.timed for each in several}) == 8
    assert draw_cases(subject.task, "seed", 3) == draw_cases(subject.task, "seed", 3)


def declare(**parts: Any) -> Task:
    @task(
        **{
            "sizes": SIZES,
            "inputs": dict(x=normal("rows", "cols")),
            "outputs": dict(y=output("rows", "cols")),
            "oracle": lambda x: x,
            "flops": "rows * cols",
            "headline": "seed",
            **parts,
        }
    )
    def copied(x: Any) -> Any:
        return x

    return copied


def test_held_out_sizes_have_comparable_work_and_go_beyond_each_extent() -> None:
    plain = declare()
    for seed in range(20):
        cases = draw_cases(plain, "seed", seed)
        assert len(cases.timed) == 2
        aligned, odd = (plain.extents(each) for each in cases.timed)
        assert all(each % 16 == 0 for each in aligned.values())
        assert all(each % 2 for each in odd.values())
        for each in cases.timed:
            assert each not in SIZES
            assert 0.5 <= plain.flops(each) / plain.flops("seed") <= 2
        beyond = [plain.extents(each) for each in cases.verified.sizes]
        assert any(each["rows"] > 48 for each in beyond)
        assert any(each["cols"] > 64 for each in beyond)
        assert set(cases.verified.checked_sizes) <= set(cases.verified.sizes)


def test_held_out_sizes_are_those_that_a_task_allows() -> None:
    fours = declare(
        multiples=dict(cols=4),
        sizes=dict(small=dict(rows=8, cols=32), seed=dict(rows=48, cols=64)),
    )
    drawn = declare(
        draw=lambda random: {"rows": 7 * int(random.integers(1, 9)), "cols": 64}, headline="seed"
    )
    for seed in range(10):
        for each in sizes_of(draw_cases(fours, "seed", seed)):
            assert fours.extents(each)["cols"] % 4 == 0
        for each in sizes_of(draw_cases(drawn, "seed", seed)):
            assert each in SIZES or drawn.extents(each)["rows"] % 7 == 0


def sizes_of(cases: HeldOutCases) -> tuple[str, ...]:
    return (*cases.timed, *cases.verified.sizes)


def test_held_out_sizes_are_within_the_limits_of_the_rival(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "kernels")
    limited = START.replace("// dispatch", "// limits: cols <= 64\n// dispatch")
    (folder / "rectify.metal").write_text(limited)
    entry = Library([folder]).entry("rectify")
    for seed in range(10):
        cases = draw_cases(entry.task, "seed", seed, kernel=entry.kernel())
        assert all(entry.task.extents(each)["cols"] <= 64 for each in sizes_of(cases))


def test_held_out_sizes_exist_for_a_size_below_all_declared_ones() -> None:
    task = Library().entry("softmax").task
    for seed in range(5):
        cases = draw_cases(task, "rows=3,cols=7", seed)
        assert cases.verified.sizes
        for each in (*cases.timed, *cases.verified.sizes):
            task.check_size(each)
            assert max(task.extents(each).values()) <= 2 * 7 + 1
