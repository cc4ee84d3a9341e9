"""Evaluate generations in parallel: a queue of jobs for workers, some of which cannot time."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from metalbench.devices import find_kind
from metalbench.errors import DeclarationError, MachineError, TaskError
from metalbench.finding_kinds import Kind
from metalbench.kernelbench.answers import UnusableSample
from metalbench.kernelbench.trials import (
    EvaluationJob,
    TrialConditions,
    classify_result,
    make_trial,
    make_unusable_result,
)
from metalbench.run.runner import Attempts
from metalbench.run.trial import Trial
from metalbench.store.history import SampleOutcome
from metalbench.store.result import DeviceFacts, Result, Status
from metalbench.workers.scheduler import (
    EvaluationStopped,
    SchedulingObserver,
    WorkerLostError,
    WorkerProvider,
    WorkerSpec,
    hold_work_slot,
)
from metalbench.workers.verify_locally import UNSUPPORTED_KINDS

# A job that has lost this many workers causes the loss itself, or no worker can do it.
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class QueuedJob:
    """A job; `verified` is what those found who could not time it, `losses` how often it began."""

    job: EvaluationJob
    verified: Result | None = None
    losses: int = 0


class JobQueue:
    """Jobs that no worker has now. Jobs verified on another machine are first, for timing."""

    def __init__(self, jobs: Iterable[EvaluationJob]) -> None:
        self._changed = threading.Condition()
        self._unstarted = deque(map(QueuedJob, jobs))
        self._verified: deque[QueuedJob] = deque()
        self._unfinished = len(self._unstarted)
        self._stopped = False

    def take(self, *, can_time: bool) -> QueuedJob | None:
        """Wait for something to do, None if all is done; raises Stopped."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopped or not self._unfinished or self._any(can_time)
            )
            if self._stopped:
                raise EvaluationStopped
            if not self._unfinished:
                return None
            return (self._verified if can_time and self._verified else self._unstarted).popleft()

    def return_verified(self, work: QueuedJob, result: Result) -> None:
        """Leave it to those who time."""
        self._return(self._verified, replace(work, verified=result))

    def retry(self, work: QueuedJob) -> bool:
        """Return a job to the queue. Return False if it has been lost too often."""
        again = replace(work, losses=work.losses + 1)
        if again.losses < MAX_ATTEMPTS:
            self._return(self._unstarted if work.verified is None else self._verified, again)
        return again.losses < MAX_ATTEMPTS

    def finish(self) -> None:
        """Count one as done."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    @property
    def unfinished(self) -> int:
        """How many are not done."""
        with self._changed:
            return self._unfinished

    def stop(self) -> None:
        """Send everybody away."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _any(self, can_time: bool) -> bool:
        return bool(self._unstarted or (can_time and self._verified))

    def _return(self, queue: deque[QueuedJob], work: QueuedJob) -> None:
        with self._changed:
            queue.appendleft(work)
            self._changed.notify_all()


# Evaluates samples: several are compiled and verified at a time; who is timed has a machine.

# The time that workers have to stop after the evaluation is cancelled.
SECONDS_TO_STOP = 2.0
# The interval of the search for new workers.
SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(frozen=True)
class FinishedJob:
    """A job with its result, or with the reason why the task, and not the sample, is at fault.

    `machine` is the machine that it was done on, empty where there is but one.
    """

    job: EvaluationJob
    result: Result | None
    judged: SampleOutcome | None
    untried: str = ""
    machine: str = ""


@dataclass(frozen=True)
class LostJob:
    """A job whose place is gone, for a `reason` that it is not to blame for; it is done again."""

    job: EvaluationJob
    reason: str
    machine: str = ""


class Evaluator:
    """Evaluates jobs in `provider`.

    `record` is called in the thread that calls `run`, for one after the other as they are done;
    no sample is timed meanwhile on the machine that this is.
    """

    def __init__(
        self, device: DeviceFacts, conditions: TrialConditions, provider: WorkerProvider
    ) -> None:
        self.device = device
        self._conditions = conditions
        self._provider = provider
        self._threads: list[tuple[WorkerSpec, threading.Thread]] = []
        self._done: queue.Queue[FinishedJob | LostJob | BaseException | None] = queue.Queue()

    def run(
        self,
        jobs: Sequence[EvaluationJob],
        record: Callable[[FinishedJob], None],
        lost: Callable[[LostJob], None] = lambda each: None,
    ) -> None:
        """Evaluate all jobs; `lost` is called for each that must be done again.

        Raises MachineError if the machine is at fault, and as `record`.
        """
        self._queue = JobQueue(jobs)
        try:
            while self._queue.unfinished or not self._done.empty():
                self._start_workers()
                try:
                    done = self._done.get(timeout=SECONDS_BETWEEN_LOOKS)
                except queue.Empty:
                    self._start_workers()
                    self._expect_somebody()
                    continue
                if isinstance(done, BaseException):
                    raise done
                if isinstance(done, LostJob):
                    lost(done)
                elif done is not None:
                    with hold_work_slot(self._provider.local_scheduler):
                        record(done)
        except KeyboardInterrupt:
            self._stop()
            while not self._done.empty():  # done before, and not kept yet
                left = self._done.get()
                if isinstance(left, FinishedJob):
                    record(left)
            raise
        finally:
            self._stop()

    def _start_workers(self) -> None:
        """Let somebody work in each further seat."""
        for spec in self._provider.list_new_workers():
            thread = threading.Thread(target=self._work, args=(spec,), daemon=True)
            self._threads.append((spec, thread))
            thread.start()

    def _expect_somebody(self) -> None:
        if not any(spec.can_time and thread.is_alive() for spec, thread in self._threads):
            raise make_no_worker_error(self.device.kind)

    def _stop(self) -> None:
        self._queue.stop()
        for spec, _ in self._threads:
            spec.scheduler.stop()
        self._provider.close()
        for _, thread in self._threads:
            thread.join(SECONDS_TO_STOP)

    def _work(self, spec: WorkerSpec) -> None:
        """Take jobs until there are none; a seat that was lost is opened again while it can be."""
        try:
            while self._queue.unfinished:
                with ExitStack() as stack:
                    with hold_work_slot(spec.scheduler):
                        workers = stack.enter_context(spec.open())
                    self._serve(spec, workers)
        except (EvaluationStopped, WorkerLostError):
            pass  # a machine that is gone: others do its work
        except BaseException as error:  # raised in the thread that waits for results
            self._done.put(error)
        self._done.put(None)

    def _serve(self, spec: WorkerSpec, workers: Attempts) -> None:
        while (work := self._queue.take(can_time=spec.can_time)) is not None:
            try:
                with SchedulingObserver(spec.scheduler) as passing:
                    done = self._evaluate(spec, workers, work, passing)
            except WorkerLostError as error:
                if self._queue.retry(work):
                    self._done.put(LostJob(work.job, str(error), spec.machine))
                else:
                    why = f"{work.job.sample.name}: lost {MAX_ATTEMPTS} times; at last {error}"
                    self._report(FinishedJob(work.job, None, None, why, spec.machine))
                return
            if done is not None:
                self._report(done)

    def _report(self, done: FinishedJob) -> None:
        self._done.put(done)
        self._queue.finish()

    def _evaluate(
        self, spec: WorkerSpec, workers: Attempts, work: QueuedJob, passing: SchedulingObserver
    ) -> FinishedJob | None:
        """Return a finished job, or None if it is correct and another worker must time it."""
        job = work.job
        try:
            trial = make_trial(job, self._conditions, self.device)
        except UnusableSample as reason:
            result = make_unusable_result(job, self._conditions, self.device, reason)
            return FinishedJob(
                job, result, SampleOutcome(reason.outcome.value, str(reason)), machine=spec.machine
            )
        try:
            result = workers.attempt(
                self.device, self._select_stages(spec, work, trial), (), passing
            )
        except DeclarationError as error:
            return FinishedJob(job, None, None, str(error), spec.machine)
        passing.end()
        if foreign := _find_foreign_fault(result):
            return FinishedJob(job, None, None, f"{job.sample.name}: {foreign}", spec.machine)
        # Without timing, the cpu device of any machine has the last word.
        simulated = find_kind(self.device.kind).is_simulated
        if not spec.can_time and not (simulated and not self._conditions.timed):
            if result.status is Status.CORRECT or self._may_be_right(result):
                self._queue.return_verified(work, result)
                return None
            result = replace(result, device=self.device)
        elif work.verified is not None:
            before = work.verified
            notes = tuple(dict.fromkeys((*before.notes, *result.notes)))
            result = replace(result, checks=(*before.checks, *result.checks), notes=notes)
        return FinishedJob(
            job, result, classify_result(result, passing.measured), machine=spec.machine
        )

    def _select_stages(self, spec: WorkerSpec, work: QueuedJob, trial: Trial) -> Trial:
        """Return the trial with this worker's stages: all, all but timing, or timing alone."""
        simulated = find_kind(self.device.kind).is_simulated
        if not spec.can_time:
            # Up to the cpu device's own headline: a GPU's takes too long.
            return replace(trial, timed=False, size=trial.size if simulated else None)
        right = work.verified is not None and work.verified.status is Status.CORRECT
        return replace(trial, verified=True) if right and simulated else trial

    def _may_be_right(self, result: Result) -> bool:
        gpu = not find_kind(self.device.kind).is_simulated
        return gpu and {each.kind for each in result.failures} <= UNSUPPORTED_KINDS


def _find_foreign_fault(result: Result) -> str:
    """Return why the sample could not be judged, if it is not the sample's fault, or an empty text.

    The task's code or MLX has failed (the GPU may have no memory left for the reference), or the
    system has ended every run.
    """
    first = next(iter(result.failures), None)
    if first is None or first.kind not in (TaskError.__name__, Kind.DISTURBED.value):
        return ""
    hint = "; take fewer --workers" if "out of memory" in first.message else ""
    return f"not judged, through no fault of the sample: {first.message}{hint}"


def make_no_worker_error(device: str) -> MachineError:
    """Return the error if no worker is left that can time."""
    return MachineError(
        f"[cluster] no machine is left that owns the {device} device; what was done is kept, and "
        "the same command goes on when there is one"
    )
