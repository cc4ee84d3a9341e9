"""A Python candidate that was verified elsewhere is timed, and not looked at further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import samples
from candidates import answers

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernelbench.folder import find_samples, read_plan
from metalbench.kernelbench.trials import TrialConditions, make_jobs, make_trial
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Silent, Stage, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Status
from metalbench.workers.pool import Workers


class Noting(Silent):
    """Notes the stages that begin."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    def stage_started(self, stage: Stage) -> None:
        self.stages.append(stage)


def test_a_candidate_verified_before_is_timed_without_further_checks(tmp_path: Path) -> None:
    place = tmp_path / "run" / samples.SET / "problem_1"
    place.mkdir(parents=True)
    (place / "sample_0.py").write_text(answers.named(answers.FUNCTION, "twice01"))
    root = place.parents[1]
    library = Library([samples.tasks_in(tmp_path / "kernels")])
    ((job,), _) = make_jobs(find_samples(root), read_plan(root, make=True), library)
    facts = device_facts(_core.open("cpu"))
    trial = make_trial(job, TrialConditions(sampling=Plan(seconds=0.05)), facts)
    trial = replace(trial, verified=True)
    noting = Noting()
    with Workers("cpu", Limits(120.0)) as workers:
        result = workers.attempt(facts, trial, (), noting)
    assert result.status is Status.CORRECT, result.failures
    assert result.measurement is not None
    assert noting.stages == [Stage.COMPILE, Stage.VERIFY, Stage.MEASURE, Stage.RECHECK]
