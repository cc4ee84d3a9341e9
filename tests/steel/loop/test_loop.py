"""Many rounds, many kernels at a time: what is honest, and what never happens at once."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from steel_session import QUICK, Heard, Scripted, proposal, subject_of
from work_in_vain import KERNEL, TASK

from agent_steel.attempt import Attempt, Status
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import Brief, Proposal
from metalbench.errors import MachineError, TaskError
from metalbench.sandbox.resources import Limits


def work(number: int) -> str:
    return KERNEL.replace("WORK = 400, 0, 100", f"WORK = {number}")


def renamed(number: int) -> str:
    """The same kernel by other words, of which the compiler makes the same."""
    return (
        KERNEL.replace("float v", f"float v{number}")
        .replace(" v ", f" v{number} ")
        .replace("(v,", f"(v{number},")
        + f"// Number {number}.\n"
    )


def changes_nothing(brief: Brief, number: int) -> Proposal:
    return proposal(renamed(number) if number % 2 else f"{KERNEL}// {number}\n", f"number {number}")


def no_change(subject: SearchSubject, session: Any, rounds: int) -> list[Attempt]:
    proposer = Scripted(changes_nothing)
    session(
        [subject], proposer, real=Limits(60), plan=QUICK, max_rounds=rounds, max_idle_rounds=rounds
    )
    attempts: list[Attempt] = list(session.history.attempts(subject.place)[1:])
    assert proposer.asked == len(attempts) == rounds
    assert [each.status for each in attempts[::2]] == [Status.REPEATED] * (rounds - rounds // 2)
    assert all(each.status in (Status.KEPT, Status.REVERTED) for each in attempts[1::2])
    return attempts


@pytest.mark.slow
def test_proposals_without_a_gain_are_not_kept(subject: SearchSubject, session: Any) -> None:
    kept = [each for each in no_change(subject, session, 6) if each.status is Status.KEPT]
    assert len(kept) <= 1


@pytest.mark.slow
def test_a_hundred_rounds_without_a_gain_keep_at_most_two(
    subject: SearchSubject, session: Any
) -> None:
    kept = [each for each in no_change(subject, session, 100) if each.status is Status.KEPT]
    assert len(kept) <= 2


def kernels(folder: Path, count: int) -> list[SearchSubject]:
    for number in range(count):
        (folder / f"task{number}.py").write_text(TASK.replace("NAME", f"task{number}"))
        (folder / f"task{number}.metal").write_text(KERNEL)
    return [subject_of(folder, f"task{number}") for number in range(count)]


def intervals(attempts: list[Attempt]) -> list[tuple[float, float]]:
    found = [(each.measured_from, each.measured_to) for each in attempts]
    return sorted((begin, end) for begin, end in found if begin is not None and end is not None)


def expect_apart(found: list[tuple[float, float]]) -> None:
    for (_, end), (begin, _) in pairwise(found):
        assert end <= begin


def test_parallel_searches_measure_one_kernel_at_a_time(folder: Path, session: Any) -> None:
    subjects = kernels(folder, 2)
    together = threading.Barrier(2)

    def script(brief: Brief, number: int) -> Proposal | None:
        if brief.round == 1:
            together.wait(60)  # two are asked at a time, or none is answered
        return proposal(work(300 - 100 * brief.round))

    proposer = Scripted(script)
    session(subjects, proposer, real=Limits(60), plan=QUICK, max_rounds=1, parallel=4)
    attempts = [each for one in subjects for each in session.history.attempts(one.place)]
    found = intervals(attempts)
    assert len(found) == proposer.asked == 2
    expect_apart(found)


@pytest.mark.slow
def test_ten_kernels_of_which_four_are_asked_at_a_time(folder: Path, session: Any) -> None:
    subjects = kernels(folder, 10)
    proposer = Scripted(lambda brief, number: proposal(work(300 - 100 * brief.round)))
    session(subjects, proposer, real=Limits(60), plan=QUICK, max_rounds=2, parallel=4)
    found = intervals([e for one in subjects for e in session.history.attempts(one.place)])
    assert len(found) == 20
    expect_apart(found)


def test_a_beam_keeps_lineages_and_shows_each_the_others(
    subject: SearchSubject, session: Any
) -> None:
    answers = {
        (1, 0): work(300),
        (1, 1): work(200),
        (2, 300): f"{work(100)}int a;\n",
        (2, 200): f"{work(100)}int b;\n",
    }
    seen: list[tuple[int, int, tuple[int, ...]]] = []
    turn = iter((0, 1))

    def script(brief: Brief, number: int) -> Proposal | None:
        parent = brief.kernel.resolve_tunables()["WORK"]
        others = tuple(
            sorted(
                int(each.source.split("WORK = ")[1].split("\n")[0].split(",")[0])
                for each in brief.others
            )
        )
        seen.append((brief.round, parent, others))
        return proposal(answers[brief.round, next(turn) if brief.round == 1 else parent])

    proposer = Scripted(script)
    (searches,) = session(
        [subject], proposer, max_rounds=2, strategy="beam", lineages=2, parallel=1
    ).searches
    assert seen[:2] == [(1, 400, ()), (1, 400, ())]
    assert sorted(seen[2:]) == [(2, 200, (300,)), (2, 300, (200,))]
    attempts = session.history.attempts(subject.place)
    assert [each.status for each in attempts] == [Status.BASELINE, *[Status.KEPT] * 4]
    # Each against what it was made from, not against the best.
    assert [each.rival for each in attempts] == [None] * 5
    assert searches.gain == pytest.approx(1400 / 1100, rel=0.02)


def test_the_greedy_one_measures_each_against_the_best_of_then(
    subject: SearchSubject, session: Any
) -> None:
    answers = [proposal(work(200)), proposal(work(300)), proposal(work(100))]
    session([subject], Scripted(answers), max_rounds=1, candidates=3)
    baseline, first, second, third = session.history.attempts(subject.place)
    assert {each.parent for each in (first, second, third)} == {baseline.number}
    assert [each.status for each in (first, second, third)] == [
        Status.KEPT,
        Status.REVERTED,
        Status.KEPT,
    ]
    assert (first.rival, second.rival, third.rival) == (None, first.number, first.number)


def test_ctrl_c_keeps_answers_for_the_next_session(subject: SearchSubject, session: Any) -> None:
    class Interrupted(type(session.workers)):  # type: ignore[misc]
        def play(self, *arguments: Any) -> Any:
            raise KeyboardInterrupt

    whole, session.workers = session.workers, Interrupted()
    ended = session([subject], Scripted([proposal(work(100))]))
    assert ended.interrupted
    assert session.fates(subject) == ["baseline", "pending"]
    broken_off = session.history.broken_off()
    assert broken_off.number == ended.session
    session.workers = whole
    proposer = Scripted([])
    again = session([subject], proposer, session=broken_off.number)
    assert session.fates(subject) == ["baseline", "kept"]
    assert (proposer.asked, again.interrupted) == (0, False)
    assert session.history.broken_off() is None


def test_ctrl_c_at_the_first_message_keeps_the_kernel_in_the_report(
    subject: SearchSubject, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Heard, "on_start", pressed)
    ended = session([subject], Scripted([]))
    assert ended.interrupted
    assert [each.subject for each in ended.searches] == [subject]


def test_a_task_error_ends_only_its_search(folder: Path, session: Any) -> None:
    class Faulty(type(session.workers)):  # type: ignore[misc]
        def play(self, device: Any, match: Any, observer: Any) -> Any:
            if match.entry.name == "task0":
                raise TaskError("[task0] the oracle divides by zero")
            return super().play(device, match, observer)

    session.workers = Faulty()
    first, second = kernels(folder, 2)
    proposer = Scripted(lambda brief, number: proposal(work(100)))
    ended = session([first, second], proposer, candidates=2)
    assert ended.untried == ("[task0] the oracle divides by zero",)
    assert session.fates(first) == ["baseline", "pending", "repeated"]
    assert session.fates(second) == ["baseline", "kept", "repeated"]


def test_a_machine_error_ends_the_session_which_can_be_resumed(
    subject: SearchSubject, session: Any
) -> None:
    class Full(type(session.workers)):  # type: ignore[misc]
        def play(self, *arguments: Any) -> Any:
            raise MachineError("no space left on device")

    session.workers = Full()
    with pytest.raises(MachineError):
        session([subject], Scripted([proposal(work(100))]))
    assert session.history.broken_off() is not None
    assert session.fates(subject) == ["baseline", "pending"]
