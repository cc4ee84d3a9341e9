"""Verify candidates, and measure their work for predictions, on workers of a cluster.

A candidate is given to the workers as soon as it is proposed. Its judgement waits for them. Timing
stays with the device of the loop, one kernel at a time: a `TimingScheduler` keeps workers of the
same machine from computing meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from queue import Queue
from typing import TYPE_CHECKING, Protocol

from metalbench.devices import find_kind
from metalbench.errors import MachineError, MetalBenchError
from metalbench.kernel.header import device_names
from metalbench.run.timed import like_seeds
from metalbench.run.trial import Observer, Trial
from metalbench.store.result import Result, Status
from metalbench.workers.scheduler import (
    EvaluationStopped,
    SchedulingObserver,
    WorkerLostError,
    WorkerSpec,
)
from metalbench.workers.verify_locally import UNSUPPORTED_KINDS

if TYPE_CHECKING:
    from agent_steel.loop.predicted import Predictor
    from agent_steel.loop.settings import SearchSubject
    from agent_steel.loop.verifier import Version
    from metalbench.profiling.prediction import MeasuredDispatch
    from metalbench.store.result import DeviceFacts
    from metalbench.workers.scheduler import WorkerProvider

# A candidate that has lost this many workers is verified by the loop itself.
MOST_LOST = 3
SECONDS_BETWEEN_LOOKS = 2.0
DEVICE = "cpu"


class CandidateWorker(Protocol):
    """A worker that verifies a candidate and measures its work."""

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Verify a kernel; a trial that is not timed has no other stages."""

    def measure_work(self, trial: Trial) -> tuple[MeasuredDispatch, ...]:
        """Return the work of a kernel's dispatches. Raise Unsupported."""


@dataclass
class _Job:
    """One candidate: how it is verified, and what its predictions need, if anything."""

    trial: Trial
    device: DeviceFacts
    work: Trial | None
    found: Future[tuple[Result | None, tuple[MeasuredDispatch, ...] | None]] = field(
        default_factory=Future
    )
    lost: int = 0


class CandidateWorkers:
    """Workers of a cluster that verify candidates before they are judged.

    Workers verify on their cpu device. If the loop's device is another one, what is right there is
    verified once more on that device. `predictors` get the predictions of candidates. `report` is
    called with messages about workers that are lost, in their threads.
    """

    def __init__(
        self,
        provider: WorkerProvider,
        predictors: Sequence[Predictor] = (),
        *,
        seed: int = 0,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._provider = provider
        self._predictors = predictors
        self._seed = seed
        self._report = report
        self._jobs: Queue[_Job | None] = Queue()
        self._known: dict[int, _Job] = {}
        self._lock = threading.Lock()
        self._living = 0
        self._closed = threading.Event()
        self._start_workers()
        threading.Thread(target=self._watch, daemon=True, name="workers").start()

    def begin(self, subject: SearchSubject, candidate: Version, number: int) -> None:
        """Give attempt `number` to the workers, unless they have it already."""
        with self._lock:
            if number in self._known:
                return
            job = self._known[number] = self._create_job(subject, candidate, number)
        self._jobs.put(job)

    def take(self, subject: SearchSubject, candidate: Version, number: int) -> Result | None:
        """Wait for the result of attempt `number`; None if the loop has to verify it itself.

        Predictors know the candidate's times afterwards.
        """
        self.begin(subject, candidate, number)
        with self._lock:
            job = self._known[number]
            if not self._living and not job.found.done():
                job.found.set_result((None, None))
        result, works = job.found.result()
        for each in self._predictors if works is not None else ():
            assert works is not None
            each.add_works(subject, candidate.kernel, candidate.tunables, works)
        return result

    def covers(self, subject: SearchSubject) -> bool:
        """Return whether workers verify a subject as thoroughly as the loop's device does."""
        return find_kind(subject.device.kind).is_simulated

    @contextmanager
    def observe(self) -> Iterator[Observer]:
        """Yield an observer that stops the workers of this machine while a kernel is timed."""
        with SchedulingObserver(self._provider.local_scheduler) as observer:
            yield observer

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the workers of this machine."""
        scheduler = self._provider.local_scheduler
        scheduler.begin_work()
        scheduler.begin_timing()
        try:
            yield
        finally:
            scheduler.end_timing()

    def close(self) -> None:
        """End all workers."""
        self._closed.set()
        self._provider.local_scheduler.stop()
        for _ in range(self._living):
            self._jobs.put(None)
        self._provider.close()

    def _create_job(self, subject: SearchSubject, candidate: Version, number: int) -> _Job:
        (seed,) = islice(like_seeds(subject.task, self._seed), number, number + 1)
        # Headline sizes of a GPU take too long on a processor.
        size = subject.size if self.covers(subject) else None
        trial = Trial(
            *(subject.entry, candidate.kernel, subject.dtype, size),
            seed=seed,
            tunables=candidate.tunables,
            timed=False,
        )
        work = None
        if self._predictors:
            first = self._predictors[0]
            work = Trial(
                subject.entry,
                candidate.kernel.on(device_names(first.chip.target)),
                *(subject.dtype, subject.size),
                seed=first.seed,
                tunables=candidate.kernel.resolve_tunables(candidate.tunables, dtype=subject.dtype),
                timed=False,
            )
        return _Job(trial, subject.device, work)

    def _watch(self) -> None:
        """Take in the workers of nodes that join the cluster."""
        while not self._closed.wait(SECONDS_BETWEEN_LOOKS):
            self._start_workers()

    def _start_workers(self) -> None:
        for spec in self._provider.list_new_workers():
            with self._lock:
                self._living += 1
            threading.Thread(target=self._serve, args=(spec,), daemon=True, name="worker").start()

    def _serve(self, spec: WorkerSpec) -> None:
        """Take jobs until the end; a worker that was lost is opened again while it can be."""
        try:
            while not self._closed.is_set():
                try:
                    with spec.open() as worker:
                        self._work(spec, worker)  # type: ignore[arg-type]
                        return
                except _JobLost as lost:
                    self._put_back(lost.job, str(lost))
        except EvaluationStopped:
            return
        except MetalBenchError as error:
            self._say(f"{spec.machine or 'a worker'} verifies no more: {error}")
        finally:
            self._leave()

    def _work(self, spec: WorkerSpec, worker: CandidateWorker) -> None:
        while (job := self._jobs.get()) is not None:
            if job.found.done():
                continue
            try:
                with SchedulingObserver(spec.scheduler) as observer:
                    job.found.set_result(self._run(worker, job, observer))
            except (WorkerLostError, EvaluationStopped) as error:
                raise _JobLost(job, str(error)) from error
            except MachineError as error:
                self._say(f"{spec.machine or 'a worker'}: {error}; verified here in its place")
                job.found.set_result((None, None))
            except MetalBenchError:
                # A fault of the task, which the loop reports.
                job.found.set_result((None, None))

    @staticmethod
    def _run(
        worker: CandidateWorker, job: _Job, observer: Observer
    ) -> tuple[Result | None, tuple[MeasuredDispatch, ...] | None]:
        result: Result | None = worker.attempt(job.device, job.trial, (), observer)
        assert result is not None
        kinds = {each.kind for each in result.failures}
        if result.status is not Status.CORRECT and kinds <= UNSUPPORTED_KINDS:
            # The cpu device cannot run it; the loop's device may.
            result = None
        works = None
        if job.work is not None and (result is None or result.status is Status.CORRECT):
            try:
                works = worker.measure_work(job.work)
            except (WorkerLostError, MachineError):
                raise
            except MetalBenchError:
                works = None  # the loop's own prediction says why there is none
        return result, works

    def _put_back(self, job: _Job, reason: str) -> None:
        job.lost += 1
        if job.lost < MOST_LOST and not self._closed.is_set():
            self._say(f"{reason}; its candidate is done again")
            self._jobs.put(job)
        elif not job.found.done():
            job.found.set_result((None, None))

    def _leave(self) -> None:
        """Count a worker that has ended; without any, the loop verifies what is left."""
        with self._lock:
            self._living -= 1
            if self._living:
                return
            left = [each for each in self._known.values() if not each.found.done()]
            for each in left:
                each.found.set_result((None, None))
        if left and not self._closed.is_set():
            self._say(f"no worker is left; {len(left)} candidates are verified here")

    def _say(self, text: str) -> None:
        if not self._closed.is_set():
            self._report(f"[cluster] {text}")


class _JobLost(Exception):  # noqa: N818 - what happened to the job
    """The worker of a job is gone."""

    def __init__(self, job: _Job, reason: str) -> None:
        super().__init__(reason)
        self.job = job
