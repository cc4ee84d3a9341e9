"""Prepare workers for the next kernels while the current kernel is not measured."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metalbench.isolation.attended import WorkerHandle

if TYPE_CHECKING:
    from metalbench.comparison.match import Match
    from metalbench.run.trial import Trial

# Number of kernels to prepare where preparation can pause. While one kernel waits for its compiler,
# the other uses the core, and a long build starts early.
MAX_PREPARED = 2


class WorkerPool:
    """Workers on one device, in the order of their trials. The first starts with the pool.

    `device` is an argument of `_core.open`.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._workers = deque([WorkerHandle(device)])

    def take(self, job: Trial | Match) -> WorkerHandle:
        """Remove and return the worker for `job`, or start one. End the workers for other jobs."""
        while self._workers:
            worker = self._workers.popleft()
            if worker.prepared_for is None or worker.prepared_for == job:
                return worker
            worker.process.end()
        return WorkerHandle(self._device)

    def prepare(self, trials: Sequence[Trial], kind: str) -> None:
        """Start to prepare the first of `trials`, which come next, on a device of this kind."""
        for trial in trials[: MAX_PREPARED if _can_pause(kind) else 1]:
            if all(worker.prepared_for != trial for worker in self._workers):
                self._workers.append(WorkerHandle(self._device, trial))

    def prepare_one(self) -> None:
        """Start a worker without a trial if the pool is empty."""
        if not self._workers:
            self._workers.append(WorkerHandle(self._device))

    def pause(self, kind: str) -> None:
        """Pause preparation. Where a worker cannot be paused, wait until it is ready."""
        for worker in self._workers:
            if _can_pause(kind):
                worker.process.pause()
            else:
                worker.wait_until_ready()

    def resume(self) -> None:
        """Resume preparation after a pause."""
        for worker in self._workers:
            worker.process.resume()

    def close(self) -> None:
        """End every process."""
        while self._workers:
            self._workers.popleft().process.end()


def _can_pause(kind: str) -> bool:
    """Return whether a worker may be stopped at any point and resumed later.

    A GPU driver may wait for the process. Outside Linux a stopped worker outlives a run that is
    killed.
    """
    return kind == "cpu" and sys.platform == "linux"
