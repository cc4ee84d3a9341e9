"""Candidates with an INCONCLUSIVE verdict are measured again before they are dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from steel_session import QUICK, Scripted, proposal
from work_in_vain import KERNEL, Simulated

from agent_steel.attempt import Status, Target, may_be_better
from agent_steel.loop.settings import SearchSubject
from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.run.trial import Observer
from metalbench.stats import Interval, Judgement, Verdict, assess
from metalbench.stats.judgement import Cause, Reason
from metalbench.store.result import DeviceFacts

FASTER = KERNEL.replace("WORK = 400, 0, 100", "WORK = 10, 0")
OTHER = KERNEL.replace("WORK = 400, 0, 100", "WORK = 200, 0")
WIDE = Interval(1.1, 0.9, 1.3)
REASON = Reason(Cause.WIDE, "wide", "measure longer")


class Disturbed(Simulated):
    """Matches of candidates with `Disturbed` in their text are INCONCLUSIVE for `times` matches."""

    def __init__(self, times: int, ratio: Interval = WIDE) -> None:
        super().__init__()
        self._left = times
        self._ratio = ratio

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        outcome = super().play(device, match, observer)
        if not self._left or "Disturbed" not in match.after.source:
            return outcome
        self._left -= 1
        measured = outcome.measurement
        assert measured is not None
        assert measured.judgement is not None
        return replace(
            outcome,
            measurement=replace(
                measured,
                verdict=Verdict.INCONCLUSIVE,
                ratio=self._ratio,
                judgement=replace(
                    measured.judgement,
                    verdict=Verdict.INCONCLUSIVE,
                    ratio=self._ratio,
                    reasons=(REASON,),
                ),
            ),
        )

    @property
    def seconds(self) -> list[float]:
        """The lengths of the measurements, in units of the first one."""
        return [each.plan.seconds / QUICK.seconds for each in self.played]


def disturbed(source: str, technique: str = "an idea") -> Any:
    return proposal(f"{source}// Disturbed\n", technique)


@pytest.mark.parametrize(
    ("times", "fate", "seconds"),
    [
        (1, Status.KEPT, [1, 3, 3]),
        (2, Status.KEPT, [1, 3, 9, 9]),
        (3, Status.REVERTED, [1, 3, 9]),
    ],
)
def test_an_inconclusive_candidate_is_measured_longer(
    times: int, fate: Status, seconds: list[float], subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(times)
    session([subject], Scripted([disturbed(FASTER)]))
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is fate
    assert session.workers.seconds == pytest.approx(seconds)
    # It is verified throughout once; each measurement has other inputs.
    played = session.workers.played
    assert [each.thorough for each in played] == [True] + [False] * (len(played) - 1)
    assert len({each.plan.seed for each in played}) == len(played)
    # The samples of all measurements stay.
    assert session.history.count_judgements(attempt.number) == min(times + 1, 3)
    assert session.history.samples(attempt.number, 0)
    assert session.history.samples(attempt.number, 2)
    if fate is Status.REVERTED:
        assert attempt.error == "INCONCLUSIVE, not FASTER, in 3 measurements"


def test_an_unconfirmed_candidate_is_measured_again(subject: SearchSubject, session: Any) -> None:
    class Once(Disturbed):
        def play(self, *arguments: Any) -> MatchOutcome:
            undisturbed = not self.played
            self._left += undisturbed
            return Simulated.play(self, *arguments) if undisturbed else super().play(*arguments)

    session.workers = Once(0)
    session([subject], Scripted([disturbed(FASTER)]))
    *_, attempt = session.history.attempts(subject.place)
    assert session.workers.seconds == pytest.approx([1, 1, 3, 3])
    assert attempt.status is Status.KEPT


def test_an_inconclusive_candidate_waits_for_the_others_of_its_round(
    subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(1)
    answers = [disturbed(FASTER, "first"), proposal(OTHER, "second")]
    session([subject], Scripted(answers), candidates=2)
    texts = [each.after.source for each in session.workers.played]
    assert ["Disturbed" in each for each in texts] == [True, False, False, True, True]
    assert any("measuring it again, longer" in each for each in session.heard.texts)
    first, second = session.history.attempts(subject.place)[1:]
    assert (first.status, second.status) == (Status.KEPT, Status.KEPT)
    # Its rival is the best of that moment.
    assert (first.rival, second.rival) == (second.number, None)


def test_a_candidate_that_cannot_be_faster_is_dropped_at_once(
    subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(9, Interval(0.99, 0.97, 1.005))
    session([subject], Scripted([disturbed(FASTER)]))
    assert session.fates(subject) == ["baseline", "reverted"]
    assert session.workers.seconds == [1]


def test_a_candidate_without_an_estimated_gain_is_not_measured_a_third_time(
    subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(9, Interval(1.005, 0.9, 1.3))
    session([subject], Scripted([disturbed(FASTER)]))
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is Status.REVERTED
    assert attempt.error.endswith("not FASTER, and no gain by the estimate of 2 measurements")
    assert session.workers.seconds == pytest.approx([1, 3])


def limit_to_one(session: Any) -> dict[str, Any]:
    """A budget that ends when the first candidate was measured."""
    return {"budget_s": 60.0, "clock": lambda: 61.0 if session.workers.played else 0.0}


def test_a_resumed_session_measures_undecided_candidates(
    subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(1)
    number = session.history.begin({})
    session([subject], Scripted([disturbed(FASTER)]), session=number, **limit_to_one(session))
    assert session.fates(subject) == ["baseline", "undecided"]
    session([subject], Scripted([]), session=number)
    assert session.fates(subject) == ["baseline", "kept"]


def test_a_later_session_may_propose_an_undecided_candidate_again(
    subject: SearchSubject, session: Any
) -> None:
    session.workers = Disturbed(1)
    session([subject], Scripted([disturbed(FASTER)]), **limit_to_one(session))
    session([subject], Scripted([disturbed(FASTER)]))
    assert session.fates(subject) == ["baseline", "undecided", "kept"]


def judgement(low: float, high: float, *causes: Cause) -> Judgement:
    times = np.array([1.0, 1.1, 1.2])
    plain = assess(times, times)
    reasons = tuple(Reason(each, "", "") for each in causes)
    return replace(plain, ratio=Interval(1.0, low, high), reasons=reasons)


@pytest.mark.parametrize(
    ("verdict", "found", "expected"),
    [
        (Verdict.INCONCLUSIVE, judgement(0.9, 1.02, Cause.WIDE), True),
        (Verdict.INCONCLUSIVE, judgement(0.9, 1.009, Cause.WIDE), False),
        (Verdict.INCONCLUSIVE, judgement(0.9, 1.009, Cause.DRIFT), True),
        (Verdict.THROTTLED, judgement(0.9, 1.1, Cause.THROTTLED), True),
        (Verdict.SAME, judgement(0.999, 1.02), False),
        (Verdict.SLOWER, judgement(0.5, 1.5), False),
    ],
)
def test_may_be_better_needs_an_open_question(
    verdict: Verdict, found: Judgement, expected: bool
) -> None:
    assert may_be_better(Target.SPEED, verdict, found, None) is expected


def test_may_be_better_by_the_scatter_needs_a_steadier_candidate() -> None:
    wide = judgement(0.9, 1.1, Cause.WIDE)
    for steadiness, expected in ((Interval(3, 2, 4), True), (Interval(1, 0.7, 1.4), False)):
        found = may_be_better(Target.STABLE, Verdict.INCONCLUSIVE, wide, steadiness)
        assert found is expected
