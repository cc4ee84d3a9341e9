"""Who may do what beside whom: many compile and verify at a time, and who is timed is alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from metalbench.run.stages import Silent, Stage


class Stopped(BaseException):
    """Nobody wants to know any more: the whole evaluation is being broken off."""


class Gate:
    """Counts who is at work. One that waits to be timed goes before all who would begin a stage."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._waiting = 0
        self._timing = False
        self._stopped = False

    def enter(self) -> None:
        """Begin to work, when nobody is timed or waits for it; raises Stopped."""
        with self._changed:
            self._wait(lambda: not self._timing and not self._waiting)
            self._working += 1

    def leave(self) -> None:
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
                raise Stopped

    def stop(self) -> None:
        """Send everybody away who comes to the gate or waits there."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wait(self, free: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self._stopped or free())
        if self._stopped:
            raise Stopped


class Passing(Silent):
    """The observer of one trial, which takes it through the gate from stage to stage.

    `measured` is from when to when it was timed, in seconds of the system's monotonic clock.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._working = self._timing = False
        self._from: float | None = None
        self.measured: tuple[float | None, float | None] = (None, None)

    def __enter__(self) -> Passing:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def stage_started(self, stage: Stage) -> None:
        """Wait until the stage may begin; raises Stopped."""
        if stage is not Stage.MEASURE:
            self._leave()
            self._enter()
            return
        self._working = False
        self._gate.begin_timing()
        self._timing, self._from = True, monotonic()

    def end(self) -> None:
        """Be timed no longer, if that was the last stage, and go on working."""
        if self._timing:
            self._leave()
            self._enter()

    def _enter(self) -> None:
        self._gate.enter()
        self._working = True

    def _leave(self) -> None:
        if self._timing:
            self._timing = False
            self.measured = (self._from, monotonic())
            self._gate.end_timing()
        if self._working:
            self._working = False
            self._gate.leave()
