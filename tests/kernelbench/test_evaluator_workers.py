"""Several machines: who cannot time verifies only, and what is lost is done again, once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import samples

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernelbench.evaluate import Evaluator, FinishedJob
from metalbench.kernelbench.folder import find_samples, read_plan
from metalbench.kernelbench.trials import TrialConditions, make_jobs
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Observer, Stage, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import DeviceFacts, Result
from metalbench.workers.pool import Workers
from metalbench.workers.scheduler import TimingScheduler, WorkerLostError, WorkerSpec


class Machine:
    """Notes what it tries; the first that it is to time it loses."""

    def __init__(self, *, loses: bool) -> None:
        self.loses = loses
        self.tried: list[tuple[bool, bool]] = []

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        self.tried.append((trial.timed, trial.verified))
        if self.loses:
            self.loses = False
            observer.stage_started(Stage.MEASURE)
            raise WorkerLostError("killed")
        with Workers("cpu", Limits(120.0)) as workers:
            return workers.attempt(device, trial, following, observer)


class Two:
    """A machine that verifies, and one with the device, which comes when that has begun."""

    def __init__(self) -> None:
        self.local_scheduler = TimingScheduler()
        self.verifies, self.can_time = Machine(loses=False), Machine(loses=True)
        self.looks = 0

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        self.looks += 1
        if self.looks == 1:
            return [
                WorkerSpec(lambda: nullcontext(self.verifies), TimingScheduler(), can_time=False)
            ]
        if self.looks == 2:
            return [WorkerSpec(lambda: nullcontext(self.can_time), self.local_scheduler)]
        return []

    def close(self) -> None:
        pass


def test_work_verified_by_one_worker_is_timed_by_another_and_repeated_if_lost(
    tmp_path: Path,
) -> None:
    root = samples.write_samples(tmp_path / "run", [[samples.RIGHT]])
    library = Library([samples.tasks_in(tmp_path / "kernels")])
    jobs, _ = make_jobs(find_samples(root), read_plan(root, make=True), library)
    seats, done = Two(), list[FinishedJob]()
    evaluation = Evaluator(
        device_facts(_core.open("cpu")), TrialConditions(sampling=Plan(seconds=0.05)), seats
    )
    evaluation.run(jobs, done.append)
    ((judged, result),) = [(each.judged, each.result) for each in done]
    assert judged is not None
    assert result is not None
    assert judged.outcome == "correct"
    assert result.measurement is not None
    assert None not in (judged.measured_from, judged.measured_to)
    assert seats.verifies.tried == [(False, False)]
    assert seats.can_time.tried == [(True, True)] * 2
