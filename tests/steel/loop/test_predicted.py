"""Searches by predicted times: probabilities decide, and nothing is timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_results import correct, incorrect
from steel_session import Scripted, Session, proposal, subject_of
from work_in_vain import Simulated, folder_with, kernel_with

from agent_steel.attempt import Status
from agent_steel.device_lock import DeviceLock
from agent_steel.history.history import text_of
from agent_steel.loop import Loop, LoopResult
from agent_steel.loop.predicted import (
    CAUSES,
    PredictionProfiler,
    PredictionVerifier,
    Predictor,
    diagnose_prediction,
    predict_ratio,
)
from agent_steel.loop.search import Tools
from agent_steel.loop.settings import SearchSubject, Settings
from agent_steel.models.prompt import prompt_values
from agent_steel.proposal import Proposer
from agent_steel.tuning.tuner import Tuner
from metalbench.kernel.header import parse
from metalbench.profiling.prediction import Prediction, find_gpu_chip
from metalbench.run.trial import Observer, Trial
from metalbench.store.result import DeviceFacts, Failure, Result

M4 = find_gpu_chip("m4")
START = kernel_with(4000, 3000, 0)


class Verified(Simulated):
    """Trials of texts with WRONG in them are incorrect. Matches must not be timed."""

    def __init__(self) -> None:
        super().__init__()
        self.trials: list[Trial] = []

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        self.trials.append(trial)
        if "WRONG" not in trial.kernel.source:
            return correct(trial.entry.name)
        failures = (Failure("verify", "WRONG_RESULT", "it is wrong"),)
        return replace(incorrect(trial.entry.name), failures=failures)


@pytest.fixture
def subject(tmp_path: Path) -> SearchSubject:
    found = subject_of(folder_with(tmp_path / "kernels", kernel=START), "twice")
    return replace(found, kernel=found.entry.kernel(M4.target), chip=M4)


def search(
    session: Session, subject: SearchSubject, proposer: Proposer, **settings: Any
) -> LoopResult:
    workers, predictor = Verified(), Predictor(M4)
    session.workers = workers
    tools = Tools(
        session.history,
        PredictionVerifier(workers, predictor),
        PredictionProfiler(workers, predictor),
        DeviceLock(session.history.folder, "cpu"),
        proposer,
        Settings(**settings),
        session.heard,
    )
    return Loop(session.history.begin({}), [subject], tools).run()


def test_probabilities_decide(subject: SearchSubject, session: Session) -> None:
    answers = [
        proposal(kernel_with(3000), "a little less"),
        proposal(kernel_with(16000), "more"),
        proposal(f"{kernel_with(1)}// WRONG\n", "wrong"),
        proposal(kernel_with(0), "none"),
    ]
    proposer = Scripted(answers)
    (searches,) = search(session, subject, proposer, max_rounds=4, max_idle_rounds=4).searches
    baseline, little, more, wrong, best = session.history.attempts(subject.place)
    assert (little.status, more.status) == (Status.REVERTED, Status.REVERTED)
    assert little.error.startswith("cannot tell (predicted ratio 1.")
    assert "probability of being faster 0." in little.error
    assert more.error.startswith("predicted slower (predicted ratio 0.")
    assert (wrong.status, wrong.ratio) == (Status.WRONG, None)
    assert best.status is Status.KEPT
    assert best.ratio is not None
    assert best.ratio.low < searches.gain == best.ratio.value < best.ratio.high
    assert 2 < best.ratio.value < 5
    assert best.measured_from is None
    # All are verified, and none is timed.
    workers = session.workers
    assert isinstance(workers, Verified)
    assert not workers.played
    assert [each.timed for each in workers.held_out] == [False] * 2
    assert [each.timed for each in workers.trials] == [False] * len(workers.trials)
    assert len(workers.trials) == 5
    assert searches.start == baseline


def test_predictions_have_a_separate_history(subject: SearchSubject, session: Session) -> None:
    search(session, subject, Scripted([]))
    assert subject.place.is_predicted
    assert subject.place.device_name == "Apple M4"
    assert session.history.attempts(replace(subject, chip=None).place) == ()
    assert len(session.history.attempts(subject.place)) == 1


def test_the_prompt_has_the_causes_of_the_predicted_time(
    subject: SearchSubject, session: Session
) -> None:
    proposer = Scripted([proposal(kernel_with(0), "none"), proposal(kernel_with(1), "one")])
    search(session, subject, proposer, max_rounds=2)
    first, second = (prompt_values(each) for each in proposer.briefs)
    assert first["bound"] == "latency"
    assert "not a measurement" in first["diagnosis"]
    assert f"latency: {CAUSES['latency']}" in first["facts"]
    assert "predicted on Apple M4" in first["facts"]
    assert "predicted dispatch of twice: " in first["facts"]
    assert "predicted slow line: twice.metal:" in first["facts"]
    assert "The kernel runs on Apple M4: " in first["chip"]
    assert "a model of the GPU predicts" in first["target"]
    assert "predicted to be " in second["history"]
    assert second["bound"] == "dispatch"
    assert "time of one pass" not in first["facts"]


def test_the_tuner_finds_the_fastest_predicted_values(
    subject: SearchSubject, session: Session
) -> None:
    (searches,) = search(session, subject, Tuner(), candidates=2).searches
    assert searches.best.tunables == {"WORK": 0}
    assert searches.best.status is Status.KEPT


def test_a_kernel_that_cannot_be_predicted_is_not_tried(
    subject: SearchSubject, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Predictor, "predict", lambda *_: "it has textures")
    ended = search(session, subject, Scripted([]))
    assert ended.untried == ("twice cannot be predicted: it has textures",)


def test_a_candidate_that_cannot_be_predicted_is_reverted(
    subject: SearchSubject, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Predictor.predict

    def predict(self: Predictor, *arguments: Any) -> Prediction | str:
        return "no" if "// odd" in arguments[1].source else real(self, *arguments)

    monkeypatch.setattr(Predictor, "predict", predict)
    search(session, subject, Scripted([proposal(f"{kernel_with(0)}// odd\n")]))
    *_, attempt = session.history.attempts(subject.place)
    assert (attempt.status, attempt.error) == (
        Status.REVERTED,
        "it cannot be predicted on Apple M4: no",
    )


def test_an_incorrect_start_is_not_tried(tmp_path: Path, session: Session) -> None:
    found = subject_of(folder_with(tmp_path / "k", kernel=f"{START}// WRONG\n"), "twice")
    ended = search(session, replace(found, chip=M4), Scripted([]))
    assert "nothing to begin with" in ended.untried[0]


def test_every_cause_has_a_meaning(subject: SearchSubject) -> None:
    found = Predictor(M4).predict(subject, subject.kernel, {})
    assert isinstance(found, Prediction)
    assert found.parts.keys() == CAUSES.keys()
    assert diagnose_prediction(found).bound == next(iter(found.parts))
    assert predict_ratio(found, found).value == 1.0


def test_the_text_of_a_winner_says_that_it_is_predicted(
    subject: SearchSubject, session: Session
) -> None:
    search(session, subject, Scripted([proposal(kernel_with(0))]))
    attempt = session.history.attempts(subject.place)[-1]
    text = text_of(attempt, "Apple M4")
    line = "// Chosen by predicted times for Apple M4, not measured."
    assert text.splitlines()[1] == line
    assert text_of(replace(attempt, source=text), "Apple M4") == text
    assert parse(text, name="twice").resolve_tunables() == {"WORK": 0}
    assert line not in text_of(attempt)
