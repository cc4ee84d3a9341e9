"""Whatever a proposer answers ends as it should, and the history tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from example_results import incorrect
from steel_session import LONGER, Scripted, proposal, subject_of
from work_in_vain import KERNEL

from agent_steel.attempt import Status
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import ProposerError, SpentError, Usage
from metalbench.compare.head_to_head import MatchOutcome
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Failure

FASTER = KERNEL.replace("WORK = 400, 0, 100", "WORK = 10, 0")
TAIL = "y[i] = v == 12345.0f ? 0.0f : 2 * x[i];"
# What a candidate does, and how that ends.
ENDS = {
    "is faster": (FASTER, Status.KEPT, ""),
    "is slower": (
        KERNEL.replace("WORK = 400", "WORK = 4000"),
        Status.REVERTED,
        "SLOWER, not FASTER",
    ),
    "is wrong": (FASTER.replace("2 * x[i]", "3 * x[i]"), Status.WRONG, "WRONG_RESULT"),
    "is wrong at an odd size": (
        FASTER.replace(TAIL, f"{TAIL} if (n == 77 && i == 3) y[i] = 0;").replace(
            "uint i", "constant uint& n, uint i"
        ),
        Status.WRONG,
        "size odd1",
    ),
    "writes elsewhere": (
        FASTER.replace(TAIL, f"{TAIL} if (i == 0) y[n] = 1;").replace(
            "uint i", "constant uint& n, uint i"
        ),
        Status.WRONG,
        "",
    ),
    "races": (
        FASTER.replace(
            TAIL, "threadgroup float t; t = 2 * x[i]; y[i] = v == 12345.0f ? t : 2 * x[i];"
        ),
        Status.WRONG,
        "race",
    ),
    "does not compile": (FASTER.replace("float v", "flaot v"), Status.BROKEN, "flaot"),
    "has no header": ("kernel void twice() {}", Status.BROKEN, "no dispatch line"),
    "has no such tunable": (KERNEL, Status.BROKEN, "unknown tunable"),
    "does not bind": (
        FASTER.replace("x[i]", "z[i]").replace("* x", "* z"),
        Status.BROKEN,
        "DISPATCH_ERROR",
    ),
    "hangs": (
        FASTER.replace(TAIL, f"while (v < 1e30f) v += 0; {TAIL}"),
        Status.BROKEN,
        "TIME_LIMIT",
    ),
    "crashes": (
        FASTER.replace(TAIL, f"{TAIL} *(device float*)(ulong(y) + (1ul << 46)) = v;"),
        Status.BROKEN,
        "",
    ),
    "has no kernel": ("\0\n", Status.BROKEN, "no dispatch line"),
}


@pytest.mark.parametrize("what", ENDS)
def test_a_candidate_that(what: str, subject: SearchSubject, session: Any) -> None:
    source, fate, said = ENDS[what]
    tunables = {"TG": 32} if what == "has no such tunable" else {}
    proposer = Scripted([proposal(source, what, **tunables)])
    session([subject], proposer, real=Limits(60), plan=LONGER)
    baseline, attempt = session.history.attempts(subject.place)
    assert baseline.status is Status.BASELINE
    assert attempt.status is fate, attempt.error
    assert said in attempt.error
    assert (attempt.parent, attempt.technique, attempt.source) == (baseline.number, what, source)
    assert attempt.usage == Usage(100, 10, 0.01, 1)
    measured = fate in (Status.KEPT, Status.REVERTED)
    assert (attempt.measured_from is not None) == measured
    series = session.history.samples(attempt.number)
    assert (len(series.get("kernel", ())) > 8) == measured
    assert bool(session.history.samples(attempt.number, 1)) == (fate is Status.KEPT)


def test_a_candidate_that_kills_its_process_is_broken(subject: SearchSubject, session: Any) -> None:
    hangs = FASTER.replace(TAIL, f"while (v < 1e30f) v += 0; {TAIL}")
    session([subject], Scripted([proposal(hangs)]), real=Limits(4.0))
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is Status.BROKEN
    assert "--kernel-timeout" in attempt.error


def test_an_unreadable_answer_counts_as_an_attempt(subject: SearchSubject, session: Any) -> None:
    answers = [ProposerError("the reply is not JSON; asked three times"), proposal(FASTER)]
    ended = session([subject], Scripted(answers), max_rounds=2)
    assert session.fates(subject) == ["baseline", "unusable", "kept"]
    (searches,) = ended.searches
    assert searches.improved
    assert searches.gain == pytest.approx(1400 / 1010, rel=0.01)


def test_each_kernel_of_an_answer_is_an_attempt(subject: SearchSubject, session: Any) -> None:
    slower = KERNEL.replace("WORK = 400, 0, 100", "WORK = 4000")
    several = (proposal(FASTER, "less"), proposal(FASTER, "the same"))
    several = tuple(replace(each, usage=Usage()) for each in several)
    (searches,) = session(
        [subject], Scripted([replace(proposal(slower, "more"), others=several)])
    ).searches
    assert session.fates(subject) == ["baseline", "reverted", "kept", "repeated"]
    assert searches.best.technique == "less"
    attempts = session.history.attempts(subject.place)
    assert [each.usage.requests for each in attempts[1:]] == [1, 0, 0]


def test_a_repeated_candidate_is_not_measured_again(subject: SearchSubject, session: Any) -> None:
    comment = KERNEL.replace("float v", "/* a comment */ float   v")
    other = KERNEL.replace("WORK = 400, 0, 100", "WORK = 4000")
    answers = [proposal(comment), proposal(other), proposal(other + "// The end.\n")]
    session([subject], Scripted(answers), max_rounds=3, max_idle_rounds=3)
    assert session.fates(subject) == ["baseline", "repeated", "reverted", "repeated"]
    first, *_, last = session.history.attempts(subject.place)
    assert last.error == f"the same as attempt {first.number + 2}"
    assert last.usage.cost == 0.01


def test_the_next_round_starts_from_the_kept_candidate(
    subject: SearchSubject, session: Any
) -> None:
    half = KERNEL.replace("WORK = 400, 0, 100", "WORK = 100")
    proposer = Scripted([proposal(half, "half"), proposal(FASTER, "less")])
    (searches,) = session([subject], proposer, max_rounds=2).searches
    first, second = proposer.briefs
    assert first.parent.status is Status.BASELINE
    assert (second.parent.technique, second.round) == ("half", 2)
    assert [each.status for each in second.attempts] == [Status.BASELINE, Status.KEPT]
    assert searches.best.technique == "less"
    ratios = [each.ratio.value for each in session.history.attempts(subject.place)[1:]]
    assert searches.gain == pytest.approx(ratios[0] * ratios[1])


def test_a_later_session_starts_from_the_best_known_kernel(
    subject: SearchSubject, session: Any
) -> None:
    session([subject], Scripted([proposal(FASTER, "less")]))
    proposer = Scripted([proposal(FASTER)])
    (searches,) = session([subject], proposer).searches
    assert proposer.briefs[0].parent.technique == "less"
    assert searches.best.technique == "less"
    assert session.fates(subject) == ["baseline", "kept", "repeated"]


def test_an_initially_wrong_kernel_is_not_optimised(subject: SearchSubject, session: Any) -> None:
    path = subject.kernel.path
    path.write_text(KERNEL.replace("2 * x", "3 * x"))
    proposer = Scripted([])
    ended = session([subject_of(path.parent, "twice")], proposer, real=Limits(60), profiled=True)
    assert proposer.asked == 0
    assert "nothing to begin with" in ended.untried[0]


def test_spending_the_budget_ends_the_loop(subject: SearchSubject, session: Any) -> None:
    answers = [proposal(FASTER), SpentError("$1 of $1 spent; raise --max-cost")]
    ended = session([subject], Scripted(answers), max_rounds=5)
    assert ended.reason == "cost: $1 of $1 spent; raise --max-cost"
    assert session.fates(subject) == ["baseline", "kept"]


def test_the_budget_ends_the_loop(subject: SearchSubject, session: Any) -> None:
    # At the start of the loop, before the kernel, and before its first round.
    times = iter([0.0, 0.0, 0.0])
    proposer = Scripted(lambda brief, number: proposal(f"{FASTER}// {number}\nint a{number};\n"))
    ended = session(
        [subject], proposer, max_rounds=5, budget_s=60.0, clock=lambda: next(times, 61.0)
    )
    assert ended.reason == "budget of 60 s used up"
    assert proposer.asked == 1


def test_rounds_without_improvement_end_a_climb(subject: SearchSubject, session: Any) -> None:
    session([subject], Scripted(lambda brief, number: proposal(KERNEL)), max_rounds=9)
    assert session.heard.reasons == ["2 rounds without improvement"]


def test_a_proposer_without_proposals_ends_the_search(subject: SearchSubject, session: Any) -> None:
    session([subject], Scripted([]), max_rounds=9)
    assert session.heard.reasons == ["the proposer has nothing left to try"]


def test_a_kept_candidate_that_proves_wrong_is_withdrawn(
    subject: SearchSubject, session: Any
) -> None:
    class Doubting(type(session.workers)):  # type: ignore[misc]
        def attempt(self, device: Any, trial: Any, *others: Any) -> Any:
            right = trial.kernel.source == KERNEL
            return super().attempt(device, trial, *others) if right else incorrect("twice")

    session.workers = Doubting()
    proposer = Scripted([proposal(FASTER)])
    (searches,) = session([subject], proposer, max_rounds=2).searches
    assert session.fates(subject) == ["baseline", "wrong"]
    assert not searches.improved
    assert proposer.briefs[1].parent.status is Status.BASELINE


@pytest.mark.parametrize(("times", "fate"), [(1, Status.KEPT), (2, Status.BROKEN)])
def test_a_single_memory_error_is_not_the_candidates_fault(
    times: int, fate: Status, subject: SearchSubject, session: Any
) -> None:
    class Killed(type(session.workers)):  # type: ignore[misc]
        def play(self, device: Any, match: Any, observer: Any) -> Any:
            outcome = super().play(device, match, observer)
            if len(self.played) > times:
                return outcome
            return MatchOutcome(device, Failure("measure", "OUT_OF_MEMORY", "was ended by SIGKILL"))

    session.workers = Killed()
    session([subject], Scripted([proposal(FASTER)]))
    assert session.fates(subject) == ["baseline", fate.value]


def test_a_rival_that_proves_wrong_is_withdrawn(subject: SearchSubject, session: Any) -> None:
    class Doubting(type(session.workers)):  # type: ignore[misc]
        def play(self, device: Any, match: Any, observer: Any) -> Any:
            outcome = super().play(device, match, observer)
            if match.before.source != FASTER:
                return outcome
            failure = Failure("verify after timing", "WRONG_RESULT", "once in a while")
            return MatchOutcome(device, failure, wrong=match.names[0])

    session.workers = Doubting()
    fastest = KERNEL.replace("WORK = 400, 0, 100", "WORK = 1")
    answers = [proposal(FASTER, "less"), proposal(fastest, "least")]
    (searches,) = session([subject], Scripted(answers), max_rounds=2).searches
    baseline, wrong, kept = session.history.attempts(subject.place)
    assert (wrong.status, kept.status) == (Status.WRONG, Status.KEPT)
    assert "once in a while" in wrong.error
    assert (kept.parent, kept.rival) == (wrong.number, baseline.number)
    assert searches.best.technique == "least"
    assert searches.gain == pytest.approx(1400 / 1001, rel=0.01)
