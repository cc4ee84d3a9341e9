"""Run requests to proposers in threads, while attempts are measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Queue
from threading import Lock, Thread
from typing import Generic, TypeVar

from agent_steel.proposal import Brief, Proposal, Proposer, ProposerError, SpentError

Ticket = TypeVar("Ticket")


@dataclass(frozen=True)
class ProposerAnswer(Generic[Ticket]):
    """The outcome of one request: whether there was a proposal, or the exception."""

    ticket: Ticket
    proposed: bool
    error: Exception | None = None


class ProposerPool(Generic[Ticket]):
    """Send up to `parallel` requests to a proposer at a time. A ticket identifies each request.

    `keep` stores an answer as soon as it arrives. It is called in the thread of the request, but
    never by two threads at a time. The threads are daemons, so that they end with the process.
    """

    def __init__(
        self,
        proposer: Proposer,
        parallel: int,
        *,
        keep: Callable[[Ticket, Brief, Proposal | ProposerError], None],
        say: Callable[[Brief, str], None],
    ) -> None:
        self._proposer = proposer
        self._parallel = parallel
        self._keep = keep
        self._say = say
        self._waiting: deque[tuple[Ticket, Brief]] = deque()
        self._answers: Queue[ProposerAnswer[Ticket]] = Queue()
        self._lock = Lock()
        self._keeping = Lock()
        self._running = 0
        self._open = 0

    @property
    def open(self) -> int:
        """The number of requests whose answers were not returned by `next`."""
        return self._open

    def submit(self, ticket: Ticket, brief: Brief) -> None:
        """Queue a request. It starts when fewer than `parallel` requests are running."""
        with self._lock:
            self._open += 1
            self._waiting.append((ticket, brief))
            if self._running < self._parallel:
                self._running += 1
                Thread(target=self._work, daemon=True, name="asking").start()

    def next(self) -> ProposerAnswer[Ticket]:
        """Wait for an answer and return it. At least one request must be open."""
        answer = self._answers.get()
        self._open -= 1
        return answer

    def withdraw(self) -> None:
        """Drop queued requests. Running requests continue."""
        with self._lock:
            self._open -= len(self._waiting)
            self._waiting.clear()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                ticket, brief = self._waiting.popleft()
            self._answers.put(self._ask(ticket, brief))

    def _ask(self, ticket: Ticket, brief: Brief) -> ProposerAnswer[Ticket]:
        try:
            found = self._propose(brief)
            if isinstance(found, SpentError):
                return ProposerAnswer(ticket, False, found)
            if found is not None:
                with self._keeping:
                    self._keep(ticket, brief, found)
        except Exception as error:  # reported by `next`
            return ProposerAnswer(ticket, False, error)
        return ProposerAnswer(ticket, found is not None)

    def _propose(self, brief: Brief) -> Proposal | ProposerError | None:
        try:
            return self._proposer.propose(brief, lambda text: self._say(brief, text))
        except ProposerError as error:
            return error
