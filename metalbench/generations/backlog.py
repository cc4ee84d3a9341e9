"""What is left to be evaluated, for many who take of it, some of whom cannot time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metalbench.generations.gate import Stopped

if TYPE_CHECKING:
    from metalbench.generations.trials import Job
    from metalbench.result import Result

# A job whose place was lost so often is at fault itself, or nobody can do it.
MOST_LOSSES = 3


@dataclass(frozen=True)
class Work:
    """A job; `verified` is what those found who could not time it, `losses` how often it began."""

    job: Job
    verified: Result | None = None
    losses: int = 0


class Backlog:
    """Jobs that nobody does now. What has been verified elsewhere goes first, to be timed."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._changed = threading.Condition()
        self._fresh = deque(map(Work, jobs))
        self._verified: deque[Work] = deque()
        self._unfinished = len(self._fresh)
        self._stopped = False

    def take(self, *, times: bool) -> Work | None:
        """Wait for something to do, None if all is done; raises Stopped."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopped or not self._unfinished or self._any(times)
            )
            if self._stopped:
                raise Stopped
            if not self._unfinished:
                return None
            return (self._verified if times and self._verified else self._fresh).popleft()

    def verified(self, work: Work, result: Result) -> None:
        """Leave it to those who time."""
        self._return(self._verified, replace(work, verified=result))

    def lost(self, work: Work) -> bool:
        """Have it done again, by whoever comes; False if it has been lost too often."""
        again = replace(work, losses=work.losses + 1)
        if again.losses < MOST_LOSSES:
            self._return(self._fresh if work.verified is None else self._verified, again)
        return again.losses < MOST_LOSSES

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

    def _any(self, times: bool) -> bool:
        return bool(self._fresh or (times and self._verified))

    def _return(self, queue: deque[Work], work: Work) -> None:
        with self._changed:
            queue.appendleft(work)
            self._changed.notify_all()
