"""Several objectives: better on one at least, and not worse on any other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from steel_session import QUICK, Scripted, Session, proposal, subject_of
from work_in_vain import KERNEL, Simulated, folder_with

from agent_steel.attempt import Attempt, Status
from agent_steel.cli.run import find_objectives
from agent_steel.device_lock import DeviceLock
from agent_steel.loop import Loop
from agent_steel.loop.objectives import MultiObjectiveVerifier, mean_ratio
from agent_steel.loop.predicted import PredictionVerifier, Predictor
from agent_steel.loop.profiler import Profiler
from agent_steel.loop.search import Tools
from agent_steel.loop.settings import SearchSubject, Settings
from agent_steel.loop.verifier import Verifier
from agent_steel.models.prompt import prompt_values
from metalbench.kernel.header import Kernel
from metalbench.profiling.gpu_calibration import CALIBRATION
from metalbench.profiling.prediction import Prediction, find_gpu_chip
from metalbench.stats import Interval

M1, M4 = find_gpu_chip("m1"), find_gpu_chip("m4")


class Told(Predictor):
    """Predicts what a text says, in a comment such as `// m4: 2`; 1 s without it."""

    def predict(
        self, subject: SearchSubject, kernel: Kernel, tunables: Mapping[str, int]
    ) -> Prediction | str:
        _, found, rest = kernel.source.partition(f"// {self.chip.key}: ")
        said = rest.split("\n")[0] if found else "1"
        if said == "never":
            return "it has textures"
        return Prediction("twice", subject.size, self.chip, (), float(said), CALIBRATION)


def version(name: str, work: int = 400, **seconds: object) -> Any:
    lines = "".join(f"// {chip}: {each}\n" for chip, each in seconds.items())
    source = KERNEL.replace("WORK = 400, 0, 100", f"WORK = {work}")
    return proposal(f"{source}{lines}constant int {name} = 1;\n", name)


@pytest.fixture
def folder_subject(tmp_path: Path) -> SearchSubject:
    return subject_of(folder_with(tmp_path / "kernels"), "twice")


def search(
    session: Session, subject: SearchSubject, answers: list[Any], first: Any
) -> list[Attempt]:
    tools = Tools(
        session.history,
        MultiObjectiveVerifier(first, tuple(map(Told, subject.others))),
        Profiler(session.workers, plan=QUICK, roofs=False),
        DeviceLock(session.history.folder, "cpu"),
        Scripted(answers),
        Settings(max_rounds=len(answers), max_idle_rounds=len(answers)),
        session.heard,
    )
    Loop(session.history.begin({}), [subject], tools).run()
    return list(session.history.attempts(subject.place)[1:])


def test_several_predicted_chips(folder_subject: SearchSubject, session: Session) -> None:
    subject = replace(folder_subject, chip=M1, others=(M4,))
    first = PredictionVerifier(session.workers, Told(M1), holds_out=False)
    answers = [
        version("one_is_worse", m1=0.4, m4=1.1),
        version("neither", m1=0.9, m4=1.0),
        version("one_is_unknown", m1=0.4, m4="never"),
        version("one_is_better", m1=1.0, m4=0.4),
        version("both", m1=0.4, m4=0.16),
    ]
    worse, neither, unknown, one, both = search(session, subject, answers, first)
    assert [each.status for each in (worse, neither, unknown)] == [Status.REVERTED] * 3
    assert worse.error.startswith("it may be worse on predicted:m4: cannot tell")
    assert neither.error.startswith("better on no objective: predicted:m1: cannot tell")
    assert unknown.error == "it cannot be predicted on Apple M4: it has textures"
    assert [each.status for each in (one, both)] == [Status.KEPT] * 2
    assert {name: each.value for name, each in one.objectives.items()} == pytest.approx(
        {"predicted:m1": 1.0, "predicted:m4": 2.5}
    )
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(2.5**0.5)
    assert subject.place.device_name == "Apple M1, Apple M4"
    # The history is separate: what is kept for both need not be kept for one.
    assert session.history.attempts(replace(subject, others=()).place) == ()


def test_measured_and_predicted_times(folder_subject: SearchSubject, session: Session) -> None:
    subject = replace(folder_subject, others=(M4,))
    first = Verifier(session.workers, plan=QUICK, confirmation=QUICK, holds_out=False)
    answers = [
        version("slower_on_m4", work=10, m4=1.2),
        version("slower_here", work=4000, m4=0.2),
        version("the_same_here", work=400, m4=0.4),
        version("faster_here", work=10, m4=0.4),
    ]
    there, here, same, faster = search(session, subject, answers, first)
    assert there.error.startswith("it may be worse on predicted:m4")
    assert here.error.startswith("it may be worse on measured: SLOWER, not FASTER")
    assert (there.status, here.status) == (Status.REVERTED, Status.REVERTED)
    assert (same.status, faster.status) == (Status.KEPT, Status.KEPT)
    assert list(same.objectives) == ["measured", "predicted:m4"]
    assert same.objectives["measured"].value == pytest.approx(1, rel=0.01)
    assert "predicted Apple M4" in subject.place.device_name
    assert not subject.place.is_predicted


def test_the_gate_holds_for_every_objective(
    folder_subject: SearchSubject, session: Session
) -> None:
    class Elsewhere(Told):
        def predict(self, subject: SearchSubject, kernel: Kernel, *_: Any) -> Prediction | str:
            found = super().predict(subject, kernel, {})
            assert isinstance(found, Prediction)
            is_slow = subject.size != "seed" and "gained" in kernel.source
            return replace(found, seconds=9.0) if is_slow else found

    subject = replace(folder_subject, chip=M1, others=(M4,))
    first = PredictionVerifier(session.workers, Told(M1), holds_out=False)
    verifier = MultiObjectiveVerifier(first, (Elsewhere(M4),))
    tools = Tools(
        session.history,
        verifier,
        Profiler(session.workers, plan=QUICK, roofs=False),
        DeviceLock(session.history.folder, "cpu"),
        Scripted([version("gained", m1=0.4, m4=0.4)]),
        Settings(),
        session.heard,
    )
    Loop(session.history.begin({}), [subject], tools).run()
    *_, attempt = session.history.attempts(subject.place)
    assert attempt.status is Status.REVERTED
    assert attempt.error == "does not generalise: predicted slower at a held-out size"


def test_an_undecided_candidate_that_is_worse_elsewhere_is_not_measured_again(
    folder_subject: SearchSubject, session: Session
) -> None:
    from steel.loop.test_undecided import Disturbed, disturbed

    session.workers = Disturbed(9)
    subject = replace(folder_subject, others=(M4,))
    first = Verifier(session.workers, plan=QUICK, confirmation=QUICK, holds_out=False)
    slow = disturbed(version("slow", work=10, m4=1.2).source)
    open_one = disturbed(version("open", work=10).source)
    slow_one, undecided = search(session, subject, [slow, open_one], first)
    assert slow_one.error.startswith("it may be worse on predicted:m4")
    assert "in 3 measurements" in undecided.error
    assert isinstance(session.workers, Simulated)
    assert len(session.workers.played) == 4


def test_the_prompt_names_the_objectives_and_their_ratios(
    folder_subject: SearchSubject, session: Session
) -> None:
    subject = replace(folder_subject, others=(M4,))
    first = Verifier(session.workers, plan=QUICK, confirmation=QUICK, holds_out=False)
    proposer = Scripted([version("same", m4=0.4), version("other", m4=0.3)])
    tools = Tools(
        session.history,
        MultiObjectiveVerifier(first, (Told(M4),)),
        Profiler(session.workers, plan=QUICK, roofs=False),
        DeviceLock(session.history.folder, "cpu"),
        proposer,
        Settings(max_rounds=2),
        session.heard,
    )
    Loop(session.history.begin({}), [subject], tools).run()
    values = prompt_values(proposer.briefs[1])
    assert (
        "objectives: measured, predicted:m4: a candidate must be better on one" in (values["facts"])
    )
    assert re.search(r"\(measured (1|0.99\d|1.0\d*), predicted:m4 2.5\)", values["history"])


def test_the_mean_of_ratios_is_geometric() -> None:
    found = mean_ratio([Interval(4, 2, 8), Interval(1, 0.5, 2)])
    assert (found.value, found.low, found.high) == pytest.approx((2, 1, 4))
    assert not mean_ratio([Interval(4, float("-inf"), float("inf"))]).is_bounded


def test_find_objectives_puts_measured_times_first() -> None:
    assert find_objectives("time") == (None, ())
    assert find_objectives("predicted:m4") == (M4, ())
    assert find_objectives("predicted:m1,predicted:m4") == (M1, (M4,))
    assert find_objectives("predicted:m4, measured") == (None, (M4,))
    with pytest.raises(click.UsageError, match="predicted:m4 is there twice"):
        find_objectives("predicted:m4,predicted:m4")
    with pytest.raises(click.UsageError, match="expected time or predicted:CHIP"):
        find_objectives("measured,fast")
