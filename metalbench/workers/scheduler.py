"""Schedule jobs on a machine: many compile and verify at a time, one alone is timed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from metalbench.errors import MachineError
from metalbench.run.runner import Attempts
from metalbench.run.trial import Silent, Stage


class EvaluationStopped(BaseException):
    """Raised in all workers when the evaluation is cancelled."""


# Longest time in s that one waits to be timed while others begin further stages.
PATIENCE_S = 60.0


class TimingScheduler:
    """Counts who is at work. Those who wait to be timed are timed one after the other.

    No stage begins while more wait to be timed than are at work, or while one has waited for
    `patience_s`. So most of them wait together, and the others stand still once for all.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._working = 0
        self._waiting_since: list[float] = []
        self._timing = False
        self._stopped = False

    def begin_work(self) -> None:
        """Begin to work, once no job is timed and few wait for that. Raise EvaluationStopped."""
        with self._changed:
            self._wait(lambda: not self._timing and self._is_patient())
            self._working += 1

    def end_work(self) -> None:
        """Stop working."""
        with self._changed:
            self._working -= 1
            self._changed.notify_all()

    def begin_timing(self) -> None:
        """Stop working. Return once no other job works or is timed. Raise EvaluationStopped."""
        with self._changed:
            self._working -= 1
            since = monotonic()
            self._waiting_since.append(since)
            self._changed.notify_all()
            try:
                self._wait(lambda: not self._timing and not self._working)
                self._timing = True
            finally:
                self._waiting_since.remove(since)
                self._changed.notify_all()

    def end_timing(self) -> None:
        """Let others work again."""
        with self._changed:
            self._timing = False
            self._changed.notify_all()

    def check(self) -> None:
        """Raise Stopped if everything is being broken off."""
        with self._changed:
            if self._stopped:
                raise EvaluationStopped

    def stop(self) -> None:
        """Send everybody away who comes to the gate or waits there."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _is_patient(self) -> bool:
        waiting = self._waiting_since
        if not waiting:
            return True
        return len(waiting) <= self._working and monotonic() - waiting[0] < self._patience_s

    def _wait(self, free: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self._stopped or free())
        if self._stopped:
            raise EvaluationStopped


class SchedulingObserver(Silent):
    """The observer of one trial, which takes it through the gate from stage to stage.

    `measured` is from when to when it was timed, in seconds of the system's monotonic clock.
    """

    def __init__(self, scheduler: TimingScheduler) -> None:
        self._scheduler = scheduler
        self._working = self._timing = False
        self._timing_start_s: float | None = None
        self.measured: tuple[float | None, float | None] = (None, None)

    def __enter__(self) -> SchedulingObserver:
        self._begin_work()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_work()

    def stage_started(self, stage: Stage) -> None:
        """Wait until the stage may begin; raises Stopped."""
        if stage is not Stage.MEASURE:
            self._end_work()
            self._begin_work()
            return
        self._working = False
        self._scheduler.begin_timing()
        self._timing, self._timing_start_s = True, monotonic()

    def end(self) -> None:
        """Be timed no longer, if that was the last stage, and go on working."""
        if self._timing:
            self._end_work()
            self._begin_work()

    def _begin_work(self) -> None:
        self._scheduler.begin_work()
        self._working = True

    def _end_work(self) -> None:
        if self._timing:
            self._timing = False
            self.measured = (self._timing_start_s, monotonic())
            self._scheduler.end_timing()
        if self._working:
            self._working = False
            self._scheduler.end_work()


# The workers that evaluate samples, each one sample at a time.


class WorkerLostError(MachineError):
    """Raised if a worker is lost with its process or machine. The sample is not at fault."""


@dataclass(frozen=True)
class WorkerSpec:
    """A seat of the machine `machine`, all of whose seats share a `scheduler`.

    `open` makes it ready; one that does not own the device verifies only: `can_time` is False.
    """

    open: Callable[[], AbstractContextManager[Attempts]]
    scheduler: TimingScheduler
    can_time: bool = True
    machine: str = ""


class WorkerProvider(Protocol):
    """All seats; `local_scheduler` is the gate of the machine on which results are kept."""

    local_scheduler: TimingScheduler

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        """Return the workers that earlier calls have not returned."""

    def close(self) -> None:
        """End all work in them."""


class LocalWorkerProvider:
    """`count` workers on this machine."""

    def __init__(self, place: Callable[[], AbstractContextManager[Attempts]], count: int) -> None:
        self.local_scheduler = TimingScheduler()
        self._specs = [WorkerSpec(place, self.local_scheduler) for _ in range(count)]

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        """All of them, once."""
        seats, self._specs = self._specs, []
        return seats

    def close(self) -> None:
        """Nothing: who works in a seat here ends with it."""


@contextmanager
def hold_work_slot(scheduler: TimingScheduler) -> Iterator[None]:
    """Keep all others of this machine from being timed; raises Stopped."""
    scheduler.begin_work()
    try:
        yield
    finally:
        scheduler.end_work()
