"""Candidates are verified and measured for predictions by workers, and timed by the loop alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest
from example_results import correct, incorrect
from steel_session import Scripted, Session, proposal, subject_of
from work_in_vain import Simulated, folder_with, kernel_with

from agent_steel.attempt import Status
from agent_steel.device_lock import DeviceLock
from agent_steel.loop import Loop, LoopResult, predicted
from agent_steel.loop.ahead import CandidateWorkers
from agent_steel.loop.predicted import PredictionProfiler, PredictionVerifier, Predictor
from agent_steel.loop.profiler import Profiler
from agent_steel.loop.search import Tools
from agent_steel.loop.settings import SearchSubject, Settings
from agent_steel.loop.verifier import Verifier, Version
from metalbench.cli.options import MachineConfig
from metalbench.errors import MachineError, Unsupported
from metalbench.profiling.prediction import (
    MeasuredDispatch,
    find_gpu_chip,
    measure_kernel,
    predict_kernel,
)
from metalbench.run.trial import Observer, Stage, Trial
from metalbench.store.result import DeviceFacts, Failure, Result
from metalbench.store.result import Status as ResultStatus
from metalbench.workers.scheduler import TimingScheduler, WorkerLostError, WorkerSpec

M4 = find_gpu_chip("m4")


class Worker:
    """Finds kernels with WRONG in their texts incorrect. The first `losses` trials are lost."""

    def __init__(self, losses: int = 0, unsupported: bool = False) -> None:
        self.losses = losses
        self.unsupported = unsupported
        self.trials: list[Trial] = []
        self.measured: list[Trial] = []
        self.busy = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        self.trials.append(trial)
        self.busy.set()
        self.goes_on.wait(30)
        if self.losses:
            self.losses -= 1
            raise WorkerLostError("killed")
        observer.stage_started(Stage.VERIFY_ALL)
        if self.unsupported:
            failures = (Failure("compile", "Unsupported", "not here"),)
            return replace(incorrect(trial.entry.name), failures=failures)
        if "WRONG" not in trial.kernel.source:
            return correct(trial.entry.name)
        failures = (Failure("verify", "WRONG_RESULT", "wrong by a worker"),)
        return replace(incorrect(trial.entry.name), failures=failures)

    def measure_work(self, trial: Trial) -> tuple[MeasuredDispatch, ...]:
        self.measured.append(trial)
        if "UNPREDICTABLE" in trial.kernel.source:
            raise Unsupported("no model of that")
        works = measure_kernel(
            *(trial.kernel, trial.entry.task, trial.size or ""),
            dtype_name=trial.dtype,
            tunables=trial.tunables,
            seed=trial.seed,
        )
        return tuple(works)


class Provider:
    """One worker, `machines` times."""

    def __init__(self, worker: Worker, machines: int = 1) -> None:
        self.local_scheduler = TimingScheduler()
        spec = WorkerSpec(lambda: nullcontext(worker), self.local_scheduler, False, "there")  # type: ignore[arg-type]
        self._specs = [spec] * machines
        self.is_closed = False

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        found, self._specs = self._specs, []
        return found

    def close(self) -> None:
        self.is_closed = True


@contextmanager
def workers_of(worker: Worker, *predictors: Predictor) -> Iterator[CandidateWorkers]:
    provider, said = Provider(worker), list[str]()
    workers = CandidateWorkers(provider, predictors, report=said.append)
    workers.said = said  # type: ignore[attr-defined]
    try:
        yield workers
    finally:
        workers.close()
        assert provider.is_closed


def version(subject: SearchSubject, source: str, name: str = "it") -> Version:
    from agent_steel.source import with_source

    return Version(with_source(subject.kernel, source), {}, name)


@pytest.fixture
def subject(tmp_path: Path) -> SearchSubject:
    return subject_of(folder_with(tmp_path / "kernels", kernel=kernel_with(4000, 3000, 0)), "twice")


@pytest.fixture
def predicted_subject(subject: SearchSubject) -> SearchSubject:
    return replace(subject, kernel=subject.entry.kernel(M4.target), chip=M4)


def run(
    session: Session, subject: SearchSubject, workers: CandidateWorkers, players: Simulated
) -> LoopResult:
    answers = [
        proposal(f"{kernel_with(1)}// WRONG\n", "wrong"),
        proposal(kernel_with(1000), "faster"),
        proposal(kernel_with(9000), "slower"),
    ]
    tools = Tools(
        session.history,
        Verifier(players, workers=workers),
        Profiler(players, roofs=False),
        DeviceLock(session.history.folder, "cpu"),
        Scripted(answers),
        Settings(max_rounds=3, max_idle_rounds=4),
        session.heard,
        workers,
    )
    return Loop(session.history.begin({}), [subject], tools).run()


def test_wrong_candidates_end_with_the_result_of_a_worker(subject, session) -> None:
    players, worker = Simulated(), Worker()
    with workers_of(worker) as workers:
        run(session, subject, workers, players)
    _, wrong, faster, slower = session.history.attempts(subject.place)
    assert wrong.status is Status.WRONG
    assert "wrong by a worker" in wrong.error
    assert faster.status is Status.KEPT
    assert slower.status is Status.REVERTED
    # The wrong one did not reach the device, and the others were not verified throughout again.
    assert all("WRONG" not in each.after.source for each in players.played)
    assert not any(each.thorough for each in players.played)
    assert [each.timed for each in worker.trials] == [False] * 3
    assert {each.size for each in worker.trials} == {"seed"}


def test_a_gpu_verifies_once_more_what_is_right_on_the_processor(subject, session) -> None:
    players, worker = Simulated(), Worker()
    on_gpu = replace(subject, device=replace(subject.device, kind="cuda"))
    with workers_of(worker) as workers:
        run(session, on_gpu, workers, players)
    assert any(each.thorough for each in players.played)
    assert {each.size for each in worker.trials} == {None}


def test_a_lost_candidate_is_verified_again(subject) -> None:
    worker = Worker(losses=2)
    with workers_of(worker) as workers:
        result = workers.take(subject, version(subject, kernel_with(1)), 2)
        assert result is not None
        assert result.status is ResultStatus.CORRECT
        assert len(worker.trials) == 3
        assert workers.said == ["[cluster] killed; its candidate is done again"] * 2  # type: ignore[attr-defined]


def test_a_candidate_that_loses_three_workers_is_left_to_the_loop(subject) -> None:
    worker = Worker(losses=3)
    with workers_of(worker) as workers:
        assert workers.take(subject, version(subject, kernel_with(1)), 2) is None
        # The worker goes on with others.
        assert workers.take(subject, version(subject, kernel_with(2)), 3) is not None


def test_without_any_worker_the_loop_verifies(subject) -> None:
    class Broken(Provider):
        def list_new_workers(self) -> Sequence[WorkerSpec]:
            def fail() -> None:
                raise MachineError("another version there")

            specs = super().list_new_workers()
            return [replace(each, open=fail) for each in specs]

    said: list[str] = []
    workers = CandidateWorkers(Broken(Worker()), report=said.append)
    assert workers.take(subject, version(subject, kernel_with(1)), 2) is None
    assert workers.take(subject, version(subject, kernel_with(1)), 3) is None
    assert "[cluster] there verifies no more: another version there" in said
    workers.close()


def test_what_the_processor_cannot_run_is_left_to_the_device(subject) -> None:
    with workers_of(Worker(unsupported=True)) as workers:
        assert workers.take(subject, version(subject, kernel_with(1)), 2) is None


def test_predictions_come_from_the_work_that_workers_measure(
    predicted_subject, session, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = predicted_subject
    here: list[str] = []

    def predict_here(kernel, *rest, **options):
        here.append(kernel.source)
        return predict_kernel(kernel, *rest, **options)

    monkeypatch.setattr(predicted, "predict_kernel", predict_here)
    predictor, worker, players = Predictor(M4), Worker(), Simulated()
    sources = [kernel_with(0), f"{kernel_with(1)}// WRONG\n", f"{kernel_with(2)}// UNPREDICTABLE\n"]
    with workers_of(worker, predictor) as workers:
        tools = Tools(
            session.history,
            PredictionVerifier(players, predictor, holds_out=False, workers=workers),
            PredictionProfiler(players, predictor),
            DeviceLock(session.history.folder, "cpu"),
            Scripted([proposal(each, each[-9:]) for each in sources]),
            Settings(max_rounds=3, max_idle_rounds=4),
            session.heard,
            workers,
        )
        Loop(session.history.begin({}), [subject], tools).run()
    _, best, wrong, _ = session.history.attempts(subject.place)
    assert best.status is Status.KEPT
    assert wrong.status is Status.WRONG
    assert sources[0] not in here
    assert sources[2] in here
    # Of a wrong candidate nothing is measured.
    assert [each.kernel.source for each in worker.measured] == [sources[0], sources[2]]
    kernel = version(subject, sources[0]).kernel
    alone = Predictor(M4).predict(subject, kernel, {})
    known = predictor.predict(subject, kernel, {})
    assert not isinstance(alone, str)
    assert not isinstance(known, str)
    assert known.seconds == alone.seconds


def test_workers_of_this_machine_stand_still_during_a_timing(subject) -> None:
    worker = Worker()
    worker.goes_on.clear()
    steps: list[str] = []
    with workers_of(worker) as workers:
        workers.begin(subject, version(subject, kernel_with(1)), 2)
        assert worker.busy.wait(30)

        def measure() -> None:
            with workers.observe() as observer:
                observer.stage_started(Stage.MEASURE)
                steps.append("timed")
                workers.begin(subject, version(subject, kernel_with(2)), 3)
                sleep(0.05)
                assert len(worker.trials) == 1
                observer.stage_started(Stage.RECHECK)

        thread = threading.Thread(target=measure)
        thread.start()
        assert wait_for(lambda: workers._provider.local_scheduler._waiting_since)  # type: ignore[attr-defined]
        assert steps == []
        worker.goes_on.set()
        thread.join(30)
        assert steps == ["timed"]
        assert workers.take(subject, version(subject, kernel_with(2)), 3) is not None


def wait_for(condition: Callable[[], bool]) -> bool:
    end = monotonic() + 30
    while not condition() and monotonic() < end:
        sleep(0.005)
    return condition()


@pytest.mark.slow
def test_a_ray_cluster_verifies_and_measures_the_work_of_candidates(predicted_subject) -> None:
    pytest.importorskip("ray")
    from metalbench.cli.machine import open_verifying_workers

    subject = predicted_subject
    config = MachineConfig.of({"device": "cpu", "kernel_timeout": 60.0, "memory_limit": None})
    predictor, said = Predictor(M4), list[str]()
    workers = CandidateWorkers(
        open_verifying_workers(config, "local", 2), [predictor], report=said.append
    )
    try:
        right = version(subject, kernel_with(1))
        wrong = version(subject, kernel_with(1).replace("2.0f", "2.5f").replace("2 *", "3 *"))
        assert wrong.kernel.source != right.kernel.source
        for number, each in enumerate((right, wrong)):
            workers.begin(subject, each, number)
        found = [workers.take(subject, each, number) for number, each in enumerate((right, wrong))]
    finally:
        workers.close()
    assert said == []
    assert [each is not None and each.status for each in found] == [
        ResultStatus.CORRECT,
        ResultStatus.INCORRECT,
    ]
    alone = Predictor(M4).predict(subject, right.kernel, {})
    assert not isinstance(alone, str)
    (known,) = predictor._known.values()
    assert known == alone
