"""Who may do what beside whom: many compile and verify at a time, and who is timed is alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from metalbench.run.stages import Silent, Stage


class EvaluationStopped(BaseException):
    """Nobody wants to know any more: the whole evaluation is being broken off."""


class TimingScheduler:
    """Counts who is at work. One that waits to be timed goes before all who would begin a stage."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._waiting = 0
        self._timing = False
        self._stopped = False

    def begin_work(self) -> None:
        """Begin to work, when nobody is timed or waits for it; raises Stopped."""
        with self._changed:
            self._wait(lambda: not self._timing and not self._waiting)
            self._working += 1

    def end_work(self) -> None:
        """Stop working."""
        with self._changed:
            self._working -= 1
            self._changed.notify_all()

    def begin_timing(self) -> None:
        """Stop working, and return when nobody else works or is timed; raises Stopped."""
        with self._changed:
            self._working -= 1
            self._waiting += 1
            self._changed.notify_all()
            try:
                self._wait(lambda: not self._timing and not self._working)
                self._timing = True
            finally:
                self._waiting -= 1
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
