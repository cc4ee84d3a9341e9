"""Proposers asked in threads of their own, so that answers come while something is measured."""

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
class Answer(Generic[Ticket]):
    """What came of one question: whether there was a proposal, or what was raised instead."""

    ticket: Ticket
    proposed: bool
    error: Exception | None = None


class Asking(Generic[Ticket]):
    """Asks a proposer up to `parallel` questions at a time; a ticket goes with each to its answer.

    `keep` is called in the thread of the question, one at a time, as soon as there is an answer: it
    is safe before anybody has time for it. The threads end with the process, whatever a proposer
    waits for.
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
        self._answers: Queue[Answer[Ticket]] = Queue()
        self._lock = Lock()
        self._keeping = Lock()
        self._running = 0
        self._open = 0

    @property
    def open(self) -> int:
        """Questions whose answers have not been taken yet."""
        return self._open

    def submit(self, ticket: Ticket, brief: Brief) -> None:
        """Ask as soon as fewer than `parallel` questions are under way."""
        with self._lock:
            self._open += 1
            self._waiting.append((ticket, brief))
            if self._running < self._parallel:
                self._running += 1
                Thread(target=self._work, daemon=True, name="asking").start()

    def next(self) -> Answer[Ticket]:
        """Wait for an answer; there is a question open."""
        answer = self._answers.get()
        self._open -= 1
        return answer

    def withdraw(self) -> None:
        """Ask nothing that has not been asked yet; what is under way is still to be answered."""
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
            self._answers.put(self._asked(ticket, brief))

    def _asked(self, ticket: Ticket, brief: Brief) -> Answer[Ticket]:
        try:
            found = self._proposed(brief)
            if isinstance(found, SpentError):
                return Answer(ticket, False, found)
            if found is not None:
                with self._keeping:
                    self._keep(ticket, brief, found)
        except Exception as error:  # whatever it is, it is told where answers are taken
            return Answer(ticket, False, error)
        return Answer(ticket, found is not None)

    def _proposed(self, brief: Brief) -> Proposal | ProposerError | None:
        try:
            return self._proposer.propose(brief, lambda text: self._say(brief, text))
        except ProposerError as error:
            return error
