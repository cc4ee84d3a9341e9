"""Jobs whose runs the system ends for what others did: begun again, each time in a new process."""

from __future__ import annotations

from pathlib import Path

import pytest
from work_in_vain import folder_with

from metalbench import _core, verify
from metalbench.compare.head_to_head import Match
from metalbench.errors import Disturbed
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.measure.measurement import Plan
from metalbench.run import runner
from metalbench.run.trial import Silent, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.environment import environment
from metalbench.store.result import Result, Status
from metalbench.store.store import Store
from metalbench.verify import VerifyPlan
from metalbench.verify.examine import Examiner
from metalbench.workers.pool import RERUNS, Workers

VICTIM = "[twice] Discarded (victim of GPU error/recovery)"
# In a worker the first examinations are disturbed. Each says in which process it was.
DISTURBED = f'''
import os

from metalbench.errors import Disturbed
from metalbench.verify.examine import Examiner

examined = Examiner.examine


def disturbed(self):
    path = os.environ["METALBENCH_CACHE"] + "/examined"
    with open(path, "a") as file:
        print(os.getpid(), file=file)
    with open(path) as file:
        if len(file.readlines()) <= TIMES:
            raise Disturbed("{VICTIM}")
    return examined(self)


if "metalbench-of-" in os.environ.get("TMPDIR", ""):
    Examiner.examine = disturbed
'''
PLAN = Plan(seconds=0.01)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def library(tmp_path: Path, times: int) -> Library:
    folder = folder_with(tmp_path / "kernels")
    with (folder / "twice.py").open("a") as task:
        task.write(DISTURBED.replace("TIMES", str(times)))
    return Library([folder])


def processes_of_examinations(cache: Path, count: int) -> set[str]:
    return set((cache / "examined").read_text().split()[:count])


@pytest.mark.parametrize("times", [1, RERUNS])
def test_a_disturbed_trial_is_repeated_in_a_new_process(
    cache: Path, tmp_path: Path, times: int
) -> None:
    entry = library(tmp_path, times).entry("twice")
    trial = Trial(entry, entry.kernel(), "float32", plan=PLAN)
    with Workers("cpu", Limits()) as workers:
        result = workers.attempt(device_facts(_core.open("cpu")), trial, (), Silent())
    assert result.status is Status.CORRECT, result.failures
    told = [note for note in result.notes if "all was run again in a new process" in note]
    assert len(told) == times
    assert all(VICTIM in note for note in told)
    assert len(processes_of_examinations(cache, times + 1)) == times + 1


def test_a_trial_disturbed_each_time_fails(cache: Path, tmp_path: Path) -> None:
    entry = library(tmp_path, 1000).entry("twice")
    trial = Trial(entry, entry.kernel(), "float32", plan=PLAN)
    with Workers("cpu", Limits()) as workers:
        result = workers.attempt(device_facts(_core.open("cpu")), trial, (), Silent())
    assert result.status is Status.FAILED
    assert [(each.kind, each.message) for each in result.failures] == [("DISTURBED", VICTIM)]
    assert len(result.notes) == RERUNS
    assert len((cache / "examined").read_text().split()) == RERUNS + 1


def test_a_disturbed_match_is_repeated_in_a_new_process(cache: Path, tmp_path: Path) -> None:
    entry = library(tmp_path, 1).entry("twice")
    names = ("the best", "the candidate")
    match = Match(entry, entry.kernel(), entry.kernel(), names, plan=PLAN)
    with Workers("cpu", Limits()) as workers:
        outcome = workers.play(device_facts(_core.open("cpu")), match, Silent())
    assert outcome.failure is None, outcome.failure
    assert VICTIM in outcome.notes[0]
    assert len(processes_of_examinations(cache, 2)) == 2


def test_a_disturbance_in_the_same_process_is_not_retried(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def disturbed(self: Examiner) -> None:
        calls.append(self)
        raise Disturbed(VICTIM)

    monkeypatch.setattr(Examiner, "examine", disturbed)
    entry = library(tmp_path, 0).entry("twice")
    trial = Trial(entry, entry.kernel(), "float32", plan=PLAN)
    with Store(tmp_path / "results.db") as store:
        device = _core.open("cpu")
        outcome = runner.run(device, [trial], store, environment(), Silent(), recorded_options={})
    (result,) = outcome.results
    assert isinstance(result, Result)
    assert [(each.kind, each.message) for each in result.failures] == [("DISTURBED", VICTIM)]
    assert len(calls) == 1


def test_a_disturbance_is_not_a_finding(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disturbed(_: Examiner) -> None:
        raise Disturbed(VICTIM)

    monkeypatch.setattr(Examiner, "rerun", disturbed)
    entry = library(tmp_path, 0).entry("twice")
    with pytest.raises(Disturbed, match="victim"):
        verify.verify(
            Builds(_core.open("cpu"), entry.kernel(), entry.task), VerifyPlan(sizes=["small"])
        )
