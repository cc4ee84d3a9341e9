"""The search for a faster version of one kernel, round by round. Its state is the history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Status, misses
from agent_steel.history.history import ExchangeContext
from agent_steel.history.known import find_known_versions
from agent_steel.history.lineage import Lineage, rounds_without
from agent_steel.loop.held_out import WRONG_CASE
from agent_steel.loop.population import Population, Selection
from agent_steel.loop.profiler import Profiler, WrongStartError
from agent_steel.loop.proposals import (
    AnswerRecorder,
    ProposerAnswer,
    ProposerPool,
    ProposerResult,
    baseline,
)
from agent_steel.loop.settings import Clock, Listener, SearchSubject, Settings
from agent_steel.loop.verifier import (
    CandidateJudgement,
    CandidateVerifier,
    Version,
    WrongRivalError,
)
from agent_steel.proposal import (
    Brief,
    Diagnosis,
    Fact,
    NothingLeft,
    Proposal,
    Proposer,
    ProposerError,
    RefusedError,
    SpentError,
)
from metalbench.errors import DeclarationError, MetalBenchError

if TYPE_CHECKING:
    from agent_steel.device_lock import DeviceLock
    from agent_steel.history import History
    from agent_steel.loop.ahead import CandidateWorkers
    from metalbench.measure.measurement import SampleSet
    from metalbench.run.trial import Observer

# Messages with a place in the source need no checked build.
_NAMES_LINE = re.compile(r"\.(?:metal|h):\d")


@dataclass(frozen=True)
class Tools:
    """Objects shared by all searches of a loop."""

    history: History
    verifier: CandidateVerifier
    profiler: Profiler
    lock: DeviceLock
    proposer: Proposer
    settings: Settings
    listener: Listener
    workers: CandidateWorkers | None = None


class Search:
    """The attempts at one kernel in a session. They start from the best known version."""

    def __init__(self, subject: SearchSubject, session: int, tools: Tools) -> None:
        self.subject = subject
        self._session = session
        self._tools = tools
        self._asked = 0
        self._answered = 0
        self._open = 0
        self._exhausted = False
        self.ended: str | None = None
        self._start = self._baseline()
        self._root = self._lineage().root(self._start)
        # What earlier sessions have found.
        earlier = [each for each in self._lineage().standing(self._root) if each.session != session]
        self._founder = earlier[0] if earlier else self._start

    @property
    def best(self) -> Attempt:
        """The best version that is known."""
        return self._lineage().best(self._root)

    def gain(self, attempt: Attempt) -> float:
        """Return the time of the initial kernel divided by that of an attempt."""
        return self._lineage().gain(attempt) / self._lineage().gain(self._start)

    def steadiness(self, attempt: Attempt) -> float:
        """Return the scatter of the initial kernel divided by that of an attempt, if known."""
        lineage = self._lineage()
        return lineage.steadiness(attempt) / lineage.steadiness(self._start)

    @property
    def start(self) -> Attempt:
        """The initial kernel, as its file is."""
        return self._start

    @property
    def round(self) -> int:
        """The number of the last round of this session, 0 before the first."""
        return max((each.round for each in self._own()), default=0)

    def pending(self) -> list[Attempt]:
        """Return the attempts of this session that are not judged yet."""
        return [each for each in self._own() if each.status is Status.PENDING]

    def find_undecided(self) -> list[Attempt]:
        """Return the attempts of this session that are to be measured again."""
        return [each for each in self._own() if each.status is Status.UNDECIDED]

    def prepare(self) -> None:
        """Measure and diagnose the best version; raise the errors of `Profiler.measure`."""
        best = self.best
        which = "the kernel as it is" if best.number == self._start.number else "the best version"
        done = "checking and timing" if self.subject.chip is None else "checking and predicting"
        said = f"{done} {which} (attempt {best.number}) ..."
        self._tools.listener.on_message(self.subject, said)
        self._first = self._members(1)[0]

    def announce(self) -> None:
        """Report the result of `prepare` to the listener."""
        self._tools.listener.on_start(self.subject, *self._first)

    def find_end(self) -> str:
        """Return why no further round begins; '' if one does."""
        settings = self._tools.settings
        if self._exhausted:
            return "the proposer has nothing left to try"
        idle = rounds_without(self._own())
        if idle >= settings.max_idle_rounds:
            return f"{_rounds(idle)} without improvement"
        if max(self.round, self._asked) >= settings.max_rounds:
            return f"{_rounds(settings.max_rounds)} done"
        return ""

    def begin_round(self) -> list[Brief]:
        """Return the briefs of the next round; none if the search ends."""
        settings = self._tools.settings
        reason = self.find_end()
        if reason:
            return self.end(reason)
        number = max(self.round, self._asked) + 1
        selected = self._select(number)
        missed = misses(settings.target, selected[0][1].bound)
        if missed:
            return self.end(missed)
        self._asked = number
        self._answered = 0
        briefs = list(self._briefs(number, selected))
        self._open = len(briefs)
        self._tools.listener.on_round_start(self.subject, number, settings.max_rounds)
        return briefs

    def end(self, reason: str) -> list[Brief]:
        """End the search and return no briefs."""
        if self.ended is None:
            self.ended = reason
            self._tools.listener.on_end(self.subject, reason)
        return []

    def take(self, *, answered: bool) -> bool:
        """Count an answer and return whether it was the last one of its round.

        `answered` is false if the proposer had nothing left to try.
        """
        self._open -= 1
        self._answered += answered
        self._exhausted = self._open == 0 and self._answered == 0
        return self._open == 0

    def keep(self, history: History, brief: Brief, answer: ProposerResult) -> None:
        """Store an answer in `history` before it is judged, so that no paid answer is lost."""
        tools = self._tools
        answered = AnswerRecorder(self.subject, self._session, tools.proposer)
        others = answer.others if isinstance(answer, Proposal) else ()
        attempts = () if isinstance(answer, NothingLeft) else (answer, *others)
        numbers = []
        for each in attempts:
            attempt = answered.attempt(history, brief, each)
            kept = history.add(self.subject.place, attempt)
            numbers.append(kept.number)
            self.verify_ahead(kept)
            if kept.status is not Status.PENDING:
                tools.listener.on_judgement(self.subject, kept)
        context = ExchangeContext(
            session=self._session,
            attempt=numbers[0] if numbers else None,
            task=self.subject.entry.name,
            round=brief.round,
            proposer=tools.proposer.name,
            model=tools.proposer.model,
        )
        history.add_exchanges(context, answer.exchanges)

    def judge(self, attempt: Attempt) -> Attempt:
        """Judge a pending or undecided attempt and store its status and samples.

        Raise MachineError for a fault of the machine, DeclarationError for one of the task, and
        WrongStartError if the initial kernel is wrong. The attempt stays pending then.
        """
        tools, subject = self._tools, self.subject
        try:
            candidate = self._version(attempt, f"attempt {attempt.number}")
            candidate.kernel.resolve_tunables(attempt.tunables)
        except DeclarationError as error:
            return self._record(replace(attempt, status=Status.BROKEN, error=str(error)))
        rival = self._rival(attempt)
        best = self._version(rival, f"attempt {rival.number}")
        undecided = attempt.status is Status.UNDECIDED
        repeat = tools.history.count_judgements(attempt.number) if undecided else 0
        tools.listener.on_judging(subject, attempt)
        try:
            with self._alone(), self._observe() as observer:
                found = tools.verifier.judge(
                    *(subject, best, candidate),
                    number=attempt.number,
                    repeat=repeat,
                    observer=observer,
                )
        except WrongRivalError as error:
            self._is_wrong(rival, error)
            return self.judge(attempt)
        judged = replace(
            attempt,
            status=found.status,
            ratio=found.ratio,
            steadiness=found.steadiness,
            error=self._explain(attempt, found),
            rival=None if rival.number == attempt.parent else rival.number,
            measured_from=found.measured_from,
            measured_to=found.measured_to,
            objectives=found.objectives,
        )
        return self._record(judged, found.samples, repeat)

    def _explain(self, attempt: Attempt, found: CandidateJudgement) -> str:
        """Return the error of a judgement; for a model with what a checked build finds."""
        is_wrong = found.status in (Status.WRONG, Status.BROKEN) and found.error != WRONG_CASE
        if not is_wrong or not self._tools.proposer.model or _NAMES_LINE.search(found.error):
            return found.error
        defects = self._tools.profiler.find_defects(self.subject, attempt)
        return "\n".join(filter(None, (found.error, defects)))

    def verify_ahead(self, attempt: Attempt) -> None:
        """Give a pending attempt to the workers, if there are some."""
        workers = self._tools.workers
        if workers is None or attempt.status is not Status.PENDING:
            return
        try:
            candidate = self._version(attempt, f"attempt {attempt.number}")
            candidate.kernel.resolve_tunables(attempt.tunables)
        except DeclarationError:
            return  # which its judgement reports
        workers.begin(self.subject, candidate, attempt.number)

    def _observe(self) -> AbstractContextManager[Observer | None]:
        """Return a context with an observer that keeps workers here still during a timing."""
        workers = self._tools.workers
        return nullcontext() if workers is None else workers.observe()

    def _record(
        self, attempt: Attempt, samples: Sequence[SampleSet] = (), repeat: int = 0
    ) -> Attempt:
        kept = self._tools.history.record_judgement(attempt, samples, repeat=repeat)
        self._tools.listener.on_judgement(self.subject, kept)
        return kept

    def _rival(self, attempt: Attempt) -> Attempt:
        """Return the best so far; of several lineages each is measured against its own."""
        lineage = self._lineage()
        if attempt.island is not None:
            return self._population().rival(attempt.island, max(self.round, attempt.round))
        if self._tools.settings.strategy == "beam" and attempt.parent is not None:
            return lineage.attempts[attempt.parent]
        return lineage.best(self._root)

    def _version(self, attempt: Attempt, name: str) -> Version:
        return Version(self.subject.kernel_of(attempt), attempt.tunables, name)

    def _baseline(self) -> Attempt:
        """Return the attempt for the initial kernel; add it to the history if it is new."""
        known = self._lineage().start(self.subject.key)
        if known is not None:
            return known
        fresh = baseline(self.subject, self._session)
        return self._tools.history.add(self.subject.place, fresh)

    def _briefs(
        self, number: int, selected: Sequence[tuple[Selection, Diagnosis]]
    ) -> Iterator[Brief]:
        settings = self._tools.settings
        attempts = tuple(self._lineage().attempts.values())
        known = find_known_versions(self._tools.history, self.subject.place)
        for each, diagnosis in selected:
            parent = each.parent
            if settings.has_islands:
                others = [each.other] if each.other is not None else []
            else:
                several = {other.parent.number: other.parent for other, _ in selected}
                others = [other for other in several.values() if other is not parent]
            yield Brief(
                task=self.subject.task,
                kernel=self.subject.kernel_of(parent),
                parent=parent,
                diagnosis=_tell_crossover(each, diagnosis),
                device=self.subject.target_device,
                is_predicted=self.subject.chip is not None,
                dtype=self.subject.dtype,
                size=self.subject.size,
                extents=self.subject.extents,
                reference=self.subject.reference,
                target=settings.target,
                round=number,
                attempts=attempts,
                others=tuple(others),
                island=each.island if settings.has_islands else None,
                is_crossover=each.other is not None,
                known=known,
            )

    def _population(self) -> Population:
        settings = self._tools.settings
        return Population(self._lineage(), self._founder, self._session, settings)

    def _select(self, number: int) -> list[tuple[Selection, Diagnosis]]:
        """Return the parents of a round with their diagnoses.

        A version that fails on new inputs gets the status WRONG.
        """
        settings = self._tools.settings
        if not settings.has_islands:
            members = self._members(settings.width)
            turns = range(settings.candidates * settings.width)
            cycle = [(turn % len(members), *members[turn % len(members)]) for turn in turns]
            return [(Selection(place, parent), found) for place, parent, found in cycle]
        while True:
            selected = self._population().select(number)
            found = []
            for each in selected:
                try:
                    found.append((each, self._diagnosis(each.parent)))
                except WrongStartError as error:
                    self._is_wrong(each.parent, error)
                    break
            else:
                return found

    def _members(self, most: int) -> list[tuple[Attempt, Diagnosis]]:
        """Return the best versions with their diagnoses.

        A kept version that fails on new inputs gets the status WRONG.
        """
        while True:
            members = self._lineage().top(self._root, most)
            found = []
            for each in members:
                try:
                    found.append((each, self._diagnosis(each)))
                except WrongStartError as error:
                    self._is_wrong(each, error)
                    break
            else:
                return found

    def _diagnosis(self, attempt: Attempt) -> Diagnosis:
        attempts = tuple(self._lineage().attempts.values())
        workers = self._tools.workers
        is_timed = workers is not None and self.subject.chip is None
        still = workers.pause() if workers is not None and is_timed else nullcontext()
        with self._alone(), still:
            found = self._tools.profiler.diagnose(self.subject, attempt, attempts)
        self._tools.history.record_diagnosis(self._session, attempt.number, found)
        return found

    def _is_wrong(self, attempt: Attempt, error: MetalBenchError) -> None:
        """Set the status WRONG of an attempt that failed on new inputs."""
        if attempt.status is Status.BASELINE:
            raise WrongStartError(str(error)) from error
        self._record(replace(attempt, status=Status.WRONG, error=str(error)))

    def _alone(self) -> AbstractContextManager[None]:
        """Return a context in which no other process measures on the device."""
        waiting = "another process measures on this device; waiting for it"
        return self._tools.lock.hold(lambda: self._tools.listener.on_message(self.subject, waiting))

    def _lineage(self) -> Lineage:
        attempts = self._tools.history.attempts(self.subject.place)
        return Lineage(attempts, self._tools.settings.target)

    def _own(self) -> list[Attempt]:
        return [each for each in self._lineage().attempts.values() if each.session == self._session]


def _tell_crossover(selection: Selection, diagnosis: Diagnosis) -> Diagnosis:
    """Return a diagnosis that asks to combine two versions, if two are selected."""
    other, parent = selection.other, selection.parent
    if other is None:
        return diagnosis
    text = (
        f"combine {parent.technique or 'this version'} (number {parent.number}) with "
        f"{other.technique or 'the other line of attempts'} (number {other.number}): keep what "
        "makes each of them fast"
    )
    return replace(diagnosis, facts=(*diagnosis.facts, Fact("crossover", text)))


def _rounds(number: int) -> str:
    return f"{number} round" if number == 1 else f"{number} rounds"


# Profile, propose, verify, keep or revert; and again, until nothing improves.

FINISHED = "finished"


@dataclass(frozen=True)
class SearchResult:
    """The result of one kernel: the first version, the best version, and why the search ended.

    `gain` is the time of the first version divided by that of the best one; `steadiness` is the
    same ratio of their scatters.
    """

    subject: SearchSubject
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
    `refused` is the error of a provider that refuses every request.
    """

    session: int
    searches: tuple[SearchResult, ...]
    reason: str
    interrupted: bool = False
    untried: tuple[str, ...] = ()
    unanswered: str = ""
    refused: str = ""


class Loop:
    """One session over several kernels.

    Proposers are asked in threads; all else is done here, one thing at a time, so that never two
    kernels are measured at once. Whatever is known is in the history before the next thing begins.
    """

    def __init__(
        self,
        session: int,
        subjects: Sequence[SearchSubject],
        tools: Tools,
        clock: Clock = monotonic,
    ) -> None:
        self._session = session
        self._subjects = subjects
        self._tools = tools
        self._clock = clock
        self._searches: list[Search] = []
        self._untried: list[str] = []
        self._answers = 0
        self._error = ""
        self._refused = ""
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
        return LoopResult(
            *(self._session, searches, reason, interrupted, untried, unanswered),
            refused=self._refused,
        )

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

    def _start(self, subject: SearchSubject) -> None:
        try:
            search = Search(subject, self._session, self._tools)
            search.prepare()
            # Before the first message: from now on an interrupted search is in the report.
            self._searches.append(search)
            search.announce()
            self._judge_pending(search)
            self._measure_again(search)
            self._ask(search)
        except (DeclarationError, WrongStartError) as error:
            self._untried.append(str(error))

    def _take(self, answer: ProposerAnswer[Search]) -> None:
        """Judge what was proposed, and ask on when all of its round were judged."""
        search, error = answer.ticket, answer.error
        if isinstance(error, SpentError):
            self._stopped = self._stopped or f"cost: {error}"
        elif isinstance(error, RefusedError):
            self._refused = str(error)
            self._stopped = self._stopped or "the provider refuses requests"
        elif error is not None:
            raise error
        over = search.take(answered=answer.proposed or error is not None)
        if search.ended is not None:
            return
        try:
            self._judge_pending(search)
            if over:
                self._measure_again(search)
                self._ask(search)
        except (DeclarationError, WrongStartError) as fault:
            search.end(str(fault))
            self._untried.append(str(fault))

    def _keep(self, search: Search, brief: Brief, answer: ProposerResult) -> None:
        # This runs in another thread, which needs a separate connection.
        with self._tools.history.beside() as history:
            search.keep(history, brief, answer)
        if isinstance(answer, ProposerError):
            self._error = str(answer)
        elif isinstance(answer, Proposal):
            self._answers += 1

    def _ask(self, search: Search) -> None:
        if self._over() or search.ended is not None:
            return
        for brief in search.begin_round():
            self._asking.submit(search, brief)

    def _judge_pending(self, search: Search) -> None:
        pending = search.pending()
        for attempt in pending:
            search.verify_ahead(attempt)
        for attempt in pending:
            search.judge(attempt)

    def _measure_again(self, search: Search) -> None:
        """Measure each undecided attempt once more, after the others of its round.

        Before the search ends, measure them until each is decided.
        """
        found = search.find_undecided()
        while found:
            for attempt in found:
                if self._over():
                    return
                said = f"attempt {attempt.number} was {attempt.error}; measuring it again, longer"
                self._tools.listener.on_message(search.subject, said)
                search.judge(attempt)
            found = search.find_undecided() if search.find_end() else []

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
            known = (subject.entry.name, subject.dtype, subject.size)
            if known == (brief.task.name, brief.dtype, brief.size):
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
