"""Profile, propose, verify, keep or revert; and again, until nothing improves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from agent_steel.attempt import Attempt
from agent_steel.loop.asking import Answer, Asking
from agent_steel.loop.climb import Climb, Tools
from agent_steel.loop.profiler import WrongStartError
from agent_steel.loop.settings import Clock
from agent_steel.proposal import Brief, Proposal, ProposerError, SpentError
from agent_steel.subject import Subject
from metalbench.errors import DeclarationError

FINISHED = "finished"


@dataclass(frozen=True)
class Climbed:
    """What became of one kernel: where it began, the best version, and why no more was tried.

    `gain` is the time of the start over that of the best, `steadiness` likewise of their scatter.
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
class Ended:
    """What a loop came to. `interrupted`: it can go on where it was. `untried` are errors.

    `unanswered` is the last error of a proposer that gave nothing else, empty where it gave more.
    """

    session: int
    climbed: tuple[Climbed, ...]
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
        self._climbs: list[Climb] = []
        self._untried: list[str] = []
        self._answers = 0
        self._error = ""
        self._stopped = ""
        budget = tools.settings.budget_s
        self._deadline = None if budget is None else clock() + budget
        self._asking: Asking[Climb] = Asking(
            tools.proposer, tools.settings.parallel, keep=self._keep, say=self._say
        )

    def run(self) -> Ended:
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
        climbed = tuple(map(self._climbed, self._climbs))
        unanswered = "" if self._answers else self._error
        untried = tuple(self._untried)
        return Ended(self._session, climbed, reason, interrupted, untried, unanswered)

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
        for climb in self._climbs:
            climb.end(self._stopped or FINISHED)

    def _start(self, subject: Subject) -> None:
        try:
            climb = Climb(subject, self._session, self._tools)
            climb.prepare()
            # Before anybody is told: what Ctrl-C ends from then on is in the report.
            self._climbs.append(climb)
            climb.announce()
            self._judge_pending(climb)
            self._ask(climb)
        except (DeclarationError, WrongStartError) as error:
            self._untried.append(str(error))

    def _take(self, answer: Answer[Climb]) -> None:
        """Judge what was proposed, and ask on when all of its round were judged."""
        climb, error = answer.ticket, answer.error
        spent = isinstance(error, SpentError)
        if spent:
            self._stopped = self._stopped or f"cost: {error}"
        elif error is not None:
            raise error
        over = climb.take(proposed=answer.proposed, spent=spent)
        if climb.ended is not None:
            return
        try:
            self._judge_pending(climb)
            if over and not self._over():
                self._ask(climb)
        except (DeclarationError, WrongStartError) as fault:
            climb.end(str(fault))
            self._untried.append(str(fault))

    def _keep(self, climb: Climb, brief: Brief, answer: Proposal | ProposerError) -> None:
        # In a thread of its own, so with a connection of its own.
        with self._tools.history.beside() as history:
            climb.keep(history, brief, answer)
        if isinstance(answer, ProposerError):
            self._error = str(answer)
        else:
            self._answers += 1

    def _ask(self, climb: Climb) -> None:
        if self._over() or climb.ended is not None:
            return
        for brief in climb.begin_round():
            self._asking.submit(climb, brief)

    def _judge_pending(self, climb: Climb) -> None:
        for attempt in climb.pending():
            climb.judge(attempt)

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
                for climb in self._climbs[:1]:
                    self._tools.listener.told(climb.subject, said)
            while self._asking.open:
                self._asking.next()
        except KeyboardInterrupt:
            return

    def _say(self, brief: Brief, text: str) -> None:
        for subject in self._subjects:
            if subject.entry.name == brief.task.name:
                self._tools.listener.told(subject, text)
                return

    def _climbed(self, climb: Climb) -> Climbed:
        best = climb.best
        return Climbed(
            climb.subject,
            climb.start,
            best,
            climb.gain(best),
            climb.steadiness(best),
            climb.ended or self._stopped,
        )
