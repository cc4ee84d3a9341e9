"""What is left to be evaluated, for many who take of it, some of whom cannot time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metalbench.generations.gate import EvaluationStopped

if TYPE_CHECKING:
    from metalbench.generations.trials import EvaluationJob
    from metalbench.result import Result

# A job whose place was lost so often is at fault itself, or nobody can do it.
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class QueuedJob:
    """A job; `verified` is what those found who could not time it, `losses` how often it began."""

    job: EvaluationJob
    verified: Result | None = None
    losses: int = 0


class JobQueue:
    """Jobs that nobody does now. What has been verified elsewhere goes first, to be timed."""

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
        """Have it done again, by whoever comes; False if it has been lost too often."""
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
