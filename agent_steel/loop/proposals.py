"""Run requests to proposers in threads, while attempts are measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import Queue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agent_steel.attempt import Attempt, Status
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import (
    Brief,
    NothingLeft,
    Proposal,
    Proposer,
    ProposerError,
    RefusedError,
    SpentError,
    Usage,
)
from agent_steel.source import source_key, text_key
from metalbench.errors import DeclarationError

if TYPE_CHECKING:
    from agent_steel.history import History


Ticket = TypeVar("Ticket")
ProposerResult = Proposal | NothingLeft | ProposerError


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
        keep: Callable[[Ticket, Brief, ProposerResult], None],
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
            ends = isinstance(found, (SpentError, RefusedError))
            with self._keeping:
                self._keep(ticket, brief, NothingLeft(found.exchanges) if ends else found)
            if isinstance(found, (SpentError, RefusedError)):
                return ProposerAnswer(ticket, False, found)
        except Exception as error:  # reported by `next`
            return ProposerAnswer(ticket, False, error)
        return ProposerAnswer(ticket, not isinstance(found, NothingLeft))

    def _propose(self, brief: Brief) -> ProposerResult:
        try:
            found = self._proposer.propose(brief, lambda text: self._say(brief, text))
        except ProposerError as error:
            return error
        return NothingLeft() if found is None else found


# Convert answers of a proposer into attempts. Repeated attempts are not judged again.

NOT_JUDGED = (Status.PENDING, Status.UNDECIDED, Status.UNUSABLE, Status.REPEATED)


def baseline(subject: SearchSubject, session: int) -> Attempt:
    """Return the attempt for the initial kernel."""
    return Attempt(
        number=0,
        session=session,
        task=subject.entry.name,
        dtype=subject.dtype,
        size=subject.size,
        parent=None,
        round=0,
        source=subject.kernel.source,
        source_key=subject.key,
        status=Status.BASELINE,
        summary=f"{subject.kernel.path.name} as it is.",
    )


@dataclass(frozen=True)
class AnswerRecorder:
    """Convert the answers of one session for one kernel."""

    subject: SearchSubject
    session: int
    proposer: Proposer

    def attempt(self, history: History, brief: Brief, answer: Proposal | ProposerError) -> Attempt:
        """Return the attempt of an answer; it is pending if it is new and can be tried."""
        if isinstance(answer, Proposal):
            return self._from_proposal(history, brief, answer)
        usage = getattr(answer, "usage", None)
        known = usage if isinstance(usage, Usage) else Usage()
        return self._make(brief, status=Status.UNUSABLE, error=str(answer), usage=known)

    def _from_proposal(self, history: History, brief: Brief, proposal: Proposal) -> Attempt:
        try:
            kernel = self.subject.kernel_of(replace(brief.parent, source=proposal.source))
            key = source_key(kernel, proposal.tunables, dtype=brief.dtype)
        except DeclarationError:
            key = text_key(proposal.source)  # judging says what is wrong with it
        known = self._find_known(history, key)
        return self._make(
            brief,
            status=Status.PENDING if known is None else Status.REPEATED,
            error="" if known is None else f"the same as attempt {known.number}",
            usage=proposal.usage,
            source=proposal.source,
            source_key=key,
            tunables=dict(proposal.tunables),
            wording=proposal.wording,
            summary=proposal.summary,
            technique=proposal.technique,
        )

    def _find_known(self, history: History, key: str) -> Attempt | None:
        """Return an equal attempt that was judged, or is pending or undecided in this session."""
        open_ones = (Status.PENDING, Status.UNDECIDED)
        for each in history.attempts(self.subject.place):
            own = each.status in open_ones and each.session == self.session
            if each.source_key == key and (own or each.status not in NOT_JUDGED):
                return each
        return None

    def _make(self, brief: Brief, **known: Any) -> Attempt:
        return Attempt(
            number=0,
            session=self.session,
            task=self.subject.entry.name,
            dtype=brief.dtype,
            size=brief.size,
            parent=brief.parent.number,
            round=brief.round,
            diagnosis=brief.diagnosis.text,
            proposer=self.proposer.name,
            model=self.proposer.model,
            island=brief.island,
            crossed=brief.others[0].number if brief.is_crossover else None,
            **{"source": "", "source_key": "", **known},
        )
