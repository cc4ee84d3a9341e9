"""Profile, propose, verify, keep or revert; and again, until nothing improves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from agent_steel.attempt import Attempt
from agent_steel.loop.asking import ProposerAnswer, ProposerPool
from agent_steel.loop.climb import Search, Tools
from agent_steel.loop.profiler import WrongStartError
from agent_steel.loop.settings import Clock
from agent_steel.proposal import Brief, Proposal, ProposerError, SpentError
from agent_steel.subject import Subject
from metalbench.errors import DeclarationError

FINISHED = "finished"


@dataclass(frozen=True)
class SearchResult:
    """The result of one kernel: the first version, the best version, and why the search ended.

    `gain` is the time of the first version divided by that of the best one; `steadiness` is the
    same ratio of their scatters.
    """

    subject: Subject
    start: Attempt
    best: Attempt
    gain: float
    steadiness: float
    reason: str

    @property
    def improved(self) -> bool:
        """Whether there is a version that is better than the file's."""
        return self.best.number != self.start.number


@dataclass(frozen=True)
class LoopResult:
    """The result of a loop. `interrupted`: it can be resumed. `untried`: errors of kernels.

    `unanswered` is the last error of a proposer that gave no proposal at all, else empty.
    """

    session: int
    searches: tuple[SearchResult, ...]
    reason: str
    interrupted: bool = False
    untried: tuple[str, ...] = ()
    unanswered: str = ""


class Loop:
    """One session over several kernels.

    Proposers are asked in threads; all else is done here, one thing at a time, so that never two
    kernels are measured at once. Whatever is known is in the history before the next thing begins.
    """

    def __init__(
        self, session: int, subjects: Sequence[Subject], tools: Tools, clock: Clock = monotonic
    ) -> None:
        self._session = session
        self._subjects = subjects
        self._tools = tools
        self._clock = clock
        self._searches: list[Search] = []
        self._untried: list[str] = []
        self._answers = 0
        self._error = ""
        self._stopped = ""
        budget = tools.settings.budget_s
        self._deadline = None if budget is None else clock() + budget
        self._asking: ProposerPool[Search] = ProposerPool(
            tools.proposer, tools.settings.parallel, keep=self._keep, say=self._say
        )

    def run(self) -> LoopResult:
        """Go on until every kernel is done, or a limit is reached, or Ctrl-C is pressed.

        Raise MachineError if the machine is at fault, StoreError if the history cannot be kept;
        what was kept before is there, and the session can go on.
        """
        interrupted = False
        try:
            self._go()
        except KeyboardInterrupt:
            interrupted = True
            self._stopped = "interrupted"
            self._collect()
        reason = self._stopped or FINISHED
        if not interrupted:
            self._tools.history.finish(self._session, reason)
        searches = tuple(map(self._result_of, self._searches))
        unanswered = "" if self._answers else self._error
        untried = tuple(self._untried)
        return LoopResult(self._session, searches, reason, interrupted, untried, unanswered)

    def _go(self) -> None:
        for subject in self._subjects:
            if self._over():
                break
            self._start(subject)
        while self._asking.open:
            answer = self._asking.next()
            self._take(answer)
            if self._over():
                self._asking.withdraw()
        for search in self._searches:
            search.end(self._stopped or FINISHED)

    def _start(self, subject: Subject) -> None:
        try:
            search = Search(subject, self._session, self._tools)
            search.prepare()
            # Before the first message: from now on an interrupted search is in the report.
            self._searches.append(search)
            search.announce()
            self._judge_pending(search)
            self._ask(search)
        except (DeclarationError, WrongStartError) as error:
            self._untried.append(str(error))

    def _take(self, answer: ProposerAnswer[Search]) -> None:
        """Judge what was proposed, and ask on when all of its round were judged."""
        search, error = answer.ticket, answer.error
        spent = isinstance(error, SpentError)
        if spent:
            self._stopped = self._stopped or f"cost: {error}"
        elif error is not None:
            raise error
        over = search.take(proposed=answer.proposed, spent=spent)
        if search.ended is not None:
            return
        try:
            self._judge_pending(search)
            if over and not self._over():
                self._ask(search)
        except (DeclarationError, WrongStartError) as fault:
            search.end(str(fault))
            self._untried.append(str(fault))

    def _keep(self, search: Search, brief: Brief, answer: Proposal | ProposerError) -> None:
        # This runs in another thread, which needs a separate connection.
        with self._tools.history.beside() as history:
            search.keep(history, brief, answer)
        if isinstance(answer, ProposerError):
            self._error = str(answer)
        else:
            self._answers += 1

    def _ask(self, search: Search) -> None:
        if self._over() or search.ended is not None:
            return
        for brief in search.begin_round():
            self._asking.submit(search, brief)

    def _judge_pending(self, search: Search) -> None:
        for attempt in search.pending():
            search.judge(attempt)

    def _over(self) -> bool:
        """Return whether a limit of the whole loop is reached."""
        if not self._stopped and self._deadline is not None and self._clock() >= self._deadline:
            self._stopped = f"budget of {self._tools.settings.budget_s or 0:g} s used up"
        return bool(self._stopped)

    def _collect(self) -> None:
        """Keep the answers that are under way; Ctrl-C once more leaves them."""
        self._asking.withdraw()
        try:
            if self._asking.open:
                said = "waiting for answers that are under way; Ctrl-C leaves them"
                for search in self._searches[:1]:
                    self._tools.listener.on_message(search.subject, said)
            while self._asking.open:
                self._asking.next()
        except KeyboardInterrupt:
            return

    def _say(self, brief: Brief, text: str) -> None:
        for subject in self._subjects:
            if subject.entry.name == brief.task.name:
                self._tools.listener.on_message(subject, text)
                return

    def _result_of(self, search: Search) -> SearchResult:
        best = search.best
        return SearchResult(
            search.subject,
            search.start,
            best,
            search.gain(best),
            search.steadiness(best),
            search.ended or self._stopped,
        )
