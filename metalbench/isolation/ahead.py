"""The workers of the kernels to come, made ready while the present one does not measure."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metalbench.isolation.attended import WorkerHandle

if TYPE_CHECKING:
    from metalbench.comparison.match import Match
    from metalbench.run.trial import Trial

# So many kernels are made ready ahead where that can pause: while one waits for its compiler, the
# other has a use for the core, and a build that takes long is begun long before it is needed.
MOST = 2


class WorkerPool:
    """Workers that are being made ready on a `device`, as `_core.open` takes it, in their order.

    The first of them is, as soon as this is made, for whatever may come.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._workers = deque([WorkerHandle(device)])

    def take(self, job: Trial | Match) -> WorkerHandle:
        """Take out the worker that is for `job`, or a new one; what was for others has no use."""
        while self._workers:
            worker = self._workers.popleft()
            if worker.prepared_for is None or worker.prepared_for == job:
                return worker
            worker.process.end()
        return WorkerHandle(self._device)

    def prepare(self, trials: Sequence[Trial], kind: str) -> None:
        """Begin with the first of `trials`, which come next, on a device of that kind."""
        for trial in trials[: MOST if _can_pause(kind) else 1]:
            if all(worker.prepared_for != trial for worker in self._workers):
                self._workers.append(WorkerHandle(self._device, trial))

    def prepare_one(self) -> None:
        """Have a worker for what is not known yet."""
        if not self._workers:
            self._workers.append(WorkerHandle(self._device))

    def pause(self, kind: str) -> None:
        """Return when nothing is made ready any more: for now, or where that cannot be, at all."""
        for worker in self._workers:
            if _can_pause(kind):
                worker.process.pause()
            else:
                worker.wait_until_ready()

    def resume(self) -> None:
        """Go on after a pause."""
        for worker in self._workers:
            worker.process.resume()

    def close(self) -> None:
        """End every process."""
        while self._workers:
            self._workers.popleft().process.end()


def _can_pause(kind: str) -> bool:
    """Whether a worker may be stopped anywhere, and goes on.

    A GPU's driver may be waiting for it, and elsewhere than on Linux one that is stopped would
    outlive a run that is killed.
    """
    return kind == "cpu" and sys.platform == "linux"
