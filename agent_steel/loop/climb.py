"""One kernel's way up, round by round. All that it knows is in the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Fate
from agent_steel.history.lineage import Lineage, rounds_without
from agent_steel.loop.profiler import Profiler, WrongStartError
from agent_steel.loop.settings import Listener, Settings
from agent_steel.loop.verifier import Verifier, Version
from agent_steel.proposal import (
    Brief,
    Diagnosis,
    Proposal,
    Proposer,
    ProposerError,
    Usage,
)
from agent_steel.source import source_key, text_key
from agent_steel.subject import Subject
from metalbench.errors import DeclarationError

if TYPE_CHECKING:
    from agent_steel.device_lock import DeviceLock
    from agent_steel.history import History

NOT_JUDGED = (Fate.PENDING, Fate.UNUSABLE, Fate.REPEATED)


@dataclass(frozen=True)
class Tools:
    """What every climb of a loop shares."""

    history: History
    verifier: Verifier
    profiler: Profiler
    lock: DeviceLock
    proposer: Proposer
    settings: Settings
    listener: Listener


class Climb:
    """The attempts at one kernel within a session, from the best that is known of it."""

    def __init__(self, subject: Subject, session: int, tools: Tools) -> None:
        self.subject = subject
        self._session = session
        self._tools = tools
        self._asked = 0
        self._answered = 0
        self._open = 0
        self.ended: str | None = None
        self._start = self._baseline()
        self._root = self._lineage().root(self._start)

    @property
    def best(self) -> Attempt:
        """The fastest version that is known."""
        return self._lineage().best(self._root)

    def gain(self, attempt: Attempt) -> float:
        """The time of the kernel as its file is over an attempt's."""
        return self._lineage().gain(attempt) / self._lineage().gain(self._start)

    @property
    def start(self) -> Attempt:
        """The kernel as its file is."""
        return self._start

    @property
    def round(self) -> int:
        """The number of the last round of this session, 0 before the first."""
        return max((each.round for each in self._own()), default=0)

    def pending(self) -> list[Attempt]:
        """What this session has proposed, and nobody has judged."""
        return [each for each in self._own() if each.fate is Fate.PENDING]

    def prepare(self) -> None:
        """Measure the best version, and say what bounds it; raises as `Profiler.measure`."""
        ((best, diagnosis),) = self._members(1)
        self._tools.listener.started(self.subject, best, diagnosis)

    def begin_round(self) -> list[Brief]:
        """Return what is to be asked in the next round; nothing if there is to be none."""
        settings = self._tools.settings
        idle = rounds_without(self._own())
        if idle >= settings.max_idle_rounds:
            return self.end(f"{_rounds(idle)} without improvement")
        number = max(self.round, self._asked) + 1
        if number > settings.max_rounds:
            return self.end(f"{_rounds(settings.max_rounds)} done")
        self._asked = number
        self._answered = 0
        briefs = list(self._briefs(number))
        self._open = len(briefs)
        self._tools.listener.round_started(self.subject, number, settings.max_rounds)
        return briefs

    def end(self, reason: str) -> list[Brief]:
        """Try no more; returns that there is nothing to ask."""
        if self.ended is None:
            self.ended = reason
            self._tools.listener.ended(self.subject, reason)
        return []

    def take(self, *, proposed: bool, spent: bool) -> bool:
        """Count an answer; whether it was the last one of its round."""
        self._open -= 1
        self._answered += proposed or spent
        if self._open == 0 and self._answered == 0:
            self.end("the proposer has nothing left to try")
        return self._open == 0

    def keep(self, history: History, brief: Brief, answer: Proposal | ProposerError) -> None:
        """Keep an answer in `history` before it is judged, so that nothing paid for is lost."""
        if isinstance(answer, ProposerError):
            usage = getattr(answer, "usage", None)
            known = usage if isinstance(usage, Usage) else Usage()
            attempt = self._attempt(brief, fate=Fate.UNUSABLE, error=str(answer), usage=known)
        else:
            attempt = self._proposed(history, brief, answer)
        kept = history.add(self.subject.place, attempt)
        if kept.fate is not Fate.PENDING:
            self._tools.listener.judged(self.subject, kept)

    def judge(self, attempt: Attempt) -> Attempt:
        """Find out what becomes of a pending attempt, and keep it with its samples.

        Raises MachineError if the machine is at fault, and DeclarationError if the task is; the
        attempt is pending then as before.
        """
        tools, subject = self._tools, self.subject
        try:
            candidate = self._version(attempt, f"attempt {attempt.number}")
            candidate.kernel.tuned(attempt.tunables)
        except DeclarationError as error:
            return self._judged(replace(attempt, fate=Fate.BROKEN, error=str(error)))
        rival = self._rival(attempt)
        best = self._version(rival, f"attempt {rival.number}")
        waiting = "another process measures on this device; waiting for it"
        with tools.lock.held(lambda: tools.listener.told(subject, waiting)):
            found = tools.verifier.judge(subject, best, candidate, number=attempt.number)
        judged = replace(
            attempt,
            fate=found.fate,
            ratio=found.ratio,
            error=found.error,
            rival=None if rival.number == attempt.parent else rival.number,
            measured_from=found.measured_from,
            measured_to=found.measured_to,
        )
        return self._judged(judged, found.samples)

    def _judged(self, attempt: Attempt, samples: Sequence[object] = ()) -> Attempt:
        kept = self._tools.history.judged(attempt, samples)  # type: ignore[arg-type]
        self._tools.listener.judged(self.subject, kept)
        return kept

    def _rival(self, attempt: Attempt) -> Attempt:
        """The best so far; of several lineages each is measured against its own."""
        lineage = self._lineage()
        if self._tools.settings.width > 1 and attempt.parent is not None:
            return lineage.attempts[attempt.parent]
        return lineage.best(self._root)

    def _version(self, attempt: Attempt, name: str) -> Version:
        return Version(self.subject.kernel_of(attempt), attempt.tunables, name)

    def _baseline(self) -> Attempt:
        """The attempt that is the kernel as its file is; a new one if it is not known yet."""
        known = self._lineage().start(self.subject.key)
        if known is not None:
            return known
        return self._tools.history.add(
            self.subject.place,
            Attempt(
                number=0,
                session=self._session,
                task=self.subject.entry.name,
                dtype=self.subject.dtype,
                size=self.subject.size,
                parent=None,
                round=0,
                source=self.subject.kernel.source,
                source_key=self.subject.key,
                fate=Fate.BASELINE,
                summary=f"{self.subject.kernel.path.name} as it is.",
            ),
        )

    def _briefs(self, number: int) -> Iterator[Brief]:
        settings = self._tools.settings
        members = self._members(settings.width)
        attempts = tuple(self._lineage().attempts.values())
        for turn in range(settings.candidates * settings.width):
            parent, diagnosis = members[turn % len(members)]
            yield Brief(
                task=self.subject.task,
                kernel=self.subject.kernel_of(parent),
                parent=parent,
                diagnosis=diagnosis,
                device=self.subject.device,
                dtype=self.subject.dtype,
                size=self.subject.size,
                extents=self.subject.extents,
                reference=self.subject.reference,
                target=settings.target,
                round=number,
                attempts=attempts,
                others=tuple(each for each, _ in members if each is not parent),
            )

    def _members(self, most: int) -> list[tuple[Attempt, Diagnosis]]:
        """The fastest versions, each with what bounds it.

        One that was kept and turns out to be wrong after all, on inputs that it had not seen, is
        kept no longer.
        """
        while True:
            members = self._lineage().top(self._root, most)
            found = []
            for each in members:
                try:
                    found.append((each, self._diagnosis(each)))
                except WrongStartError as error:
                    if each.fate is not Fate.KEPT:
                        raise
                    self._judged(replace(each, fate=Fate.WRONG, error=str(error)))
                    break
            else:
                return found

    def _diagnosis(self, attempt: Attempt) -> Diagnosis:
        tools = self._tools
        attempts = tuple(self._lineage().attempts.values())
        waiting = "another process measures on this device; waiting for it"
        with tools.lock.held(lambda: tools.listener.told(self.subject, waiting)):
            return tools.profiler.diagnose(self.subject, attempt, attempts)

    def _proposed(self, history: History, brief: Brief, proposal: Proposal) -> Attempt:
        try:
            kernel = self.subject.kernel_of(replace(brief.parent, source=proposal.source))
            key = source_key(kernel, proposal.tunables)
        except DeclarationError:
            key = text_key(proposal.source)  # judging says what is wrong with it
        known = self._known(history, key)
        return self._attempt(
            brief,
            fate=Fate.PENDING if known is None else Fate.REPEATED,
            error="" if known is None else f"the same as attempt {known.number}",
            usage=proposal.usage,
            source=proposal.source,
            source_key=key,
            tunables=dict(proposal.tunables),
            wording=proposal.wording,
            summary=proposal.summary,
            technique=proposal.technique,
        )

    def _known(self, history: History, key: str) -> Attempt | None:
        """An attempt that is the same and was judged, or is to be in this session."""
        for each in history.attempts(self.subject.place):
            own = each.fate is Fate.PENDING and each.session == self._session
            if each.source_key == key and (own or each.fate not in NOT_JUDGED):
                return each
        return None

    def _attempt(self, brief: Brief, **known: Any) -> Attempt:
        proposer = self._tools.proposer
        return Attempt(
            number=0,
            session=self._session,
            task=self.subject.entry.name,
            dtype=brief.dtype,
            size=brief.size,
            parent=brief.parent.number,
            round=brief.round,
            diagnosis=brief.diagnosis.text,
            proposer=proposer.name,
            model=proposer.model,
            **{"source": "", "source_key": "", **known},
        )

    def _lineage(self) -> Lineage:
        return Lineage(self._tools.history.attempts(self.subject.place))

    def _own(self) -> list[Attempt]:
        return [each for each in self._lineage().attempts.values() if each.session == self._session]


def _rounds(number: int) -> str:
    return f"{number} round" if number == 1 else f"{number} rounds"
