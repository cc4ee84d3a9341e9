"""Replay a recorded session: answers, diagnoses and judgements come from its file.

Nothing is asked, verified or timed. The search itself runs as it is, so that a replay shows what
another strategy or version makes of the same answers, up to the first request that is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Status, Usage
from agent_steel.history.recording import RecordedCall, Recording
from agent_steel.loop.profiler import NOT_MEASURED, Profiler
from agent_steel.loop.verifier import CandidateJudgement, Version
from agent_steel.models.providers.model import make_proposal
from agent_steel.models.replies import ReplyError, kernel_replies
from agent_steel.proposal import (
    Brief,
    Diagnosis,
    NothingLeft,
    Progress,
    Proposal,
    ProposerError,
    SpentError,
)
from agent_steel.source import source_key
from agent_steel.tuning.tuner import Tuner

if TYPE_CHECKING:
    from agent_steel.loop.settings import SearchSubject
    from metalbench.run.trial import Observer

NEXT_STEP = (
    "replay it with the version and the options that recorded it, or ask a model: "
    "--provider in place of --replay"
)


class ReplayProposer:
    """Answers each brief with what the file has for its task, round and parent."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lock = Lock()
        self._left = [*recording.calls, *_list_tuner_calls(recording)]
        models = [each for each in recording.attempts.values() if each.proposer]
        self.name = models[0].proposer if models else "replay"
        self.model = models[0].model if models else ""
        self.usage = Usage()
        # As many versions of a round as the recorded proposer is asked for.
        self.candidates = Tuner.candidates if self.name == Tuner.name else 1

    def propose(self, brief: Brief, say: Progress) -> Proposal | NothingLeft:
        """Return the recorded answer; raise ProposerError as recorded.

        Raise SpentError where the recording ends, and where the search has left it: the message has
        the first difference.
        """
        with self._lock:
            call = self._take(brief)
            usage = sum((each.usage for each in call.exchanges), Usage())
            self.usage += usage
        attempt = self._recording.attempts.get(call.attempt or 0)
        if attempt is None:
            return NothingLeft(call.exchanges)
        if attempt.status is Status.UNUSABLE:
            failed = ProposerError(attempt.error)
            failed.usage, failed.exchanges = usage, call.exchanges
            raise failed
        if not call.exchanges:
            return Proposal(attempt.source, attempt.summary, attempt.technique, attempt.tunables)
        return self._read(brief, call, usage)

    def _read(self, brief: Brief, call: RecordedCall, usage: Usage) -> Proposal | NothingLeft:
        try:
            replies = kernel_replies(call.exchanges[-1].answer, brief.kernel)
        except ReplyError as error:
            raise SpentError(
                f"{self._recording.path}: the answer to request {call.index} of round "
                f"{call.round} cannot be read any more: {error}; {NEXT_STEP}"
            ) from None
        return make_proposal(replies, usage, call.exchanges)

    def _take(self, brief: Brief) -> RecordedCall:
        """Return the first call for a brief that was not taken yet."""
        of_round = [
            each for each in self._left if (each.task, each.round) == (brief.task.name, brief.round)
        ]
        for each in of_round:
            if self._is_of(each, brief):
                self._left.remove(each)
                return each
        where = f"[replay] {self._recording.path}: {brief.task.name}, round {brief.round}"
        if of_round:
            raise SpentError(f"{where}: {self._describe_difference(of_round[0], brief)}")
        if any(each.task == brief.task.name and each.round > brief.round for each in self._left):
            raise SpentError(f"{where}: no further request is recorded; {NEXT_STEP}")
        said = self._recording.outcome or "it was broken off"
        raise SpentError(f"{where}: the recording ends here ({said})")

    def _is_of(self, call: RecordedCall, brief: Brief) -> bool:
        attempt = self._recording.attempts.get(call.attempt or 0)
        if attempt is None or attempt.parent is None:
            return True
        parent = self._recording.attempts.get(attempt.parent)
        if parent is None or parent.source_key != brief.parent.source_key:
            return False
        other = self._recording.attempts.get(attempt.crossed or 0)
        wanted = brief.others[0].source_key if brief.is_crossover else None
        return (None if other is None else other.source_key) == wanted

    def _describe_difference(self, call: RecordedCall, brief: Brief) -> str:
        attempt = self._recording.attempts[call.attempt or 0]
        mine = "combines two versions" if brief.is_crossover else "changes one version"
        theirs = "combines two versions" if attempt.crossed else "changes one version"
        what = f"{theirs} and this one {mine}"
        if mine == theirs:
            what = (
                f"is for attempt {attempt.parent} and this one for another text, attempt "
                f"{brief.parent.number} ({brief.parent.technique or 'as it was'})"
            )
        return f"the recorded request {call.index} {what}; {NEXT_STEP}"


def _list_tuner_calls(recording: Recording) -> Iterator[RecordedCall]:
    """Yield a call without requests for each proposal of the tuner."""
    counts: dict[tuple[str, int], int] = {}
    for each in recording.attempts.values():
        if each.proposer != Tuner.name or each.status is Status.BASELINE:
            continue
        place = (each.task, each.round)
        index = counts[place] = counts.get(place, -1) + 1
        yield RecordedCall(each.task, each.round, index, each.number, ())


@dataclass(frozen=True)
class RecordedVerifier:
    """Judges candidates as they were judged in a recorded session."""

    recording: Recording
    _known: dict[tuple[str, str], Attempt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Collect the judged attempts."""
        open_ones = (Status.PENDING, Status.REPEATED, Status.UNUSABLE)
        for each in self.recording.attempts.values():
            if each.status not in open_ones:
                self._known[each.task, each.source_key] = each

    def judge(
        self,
        subject: SearchSubject,
        best: Version,
        candidate: Version,
        *,
        number: int,
        repeat: int = 0,
        observer: Observer | None = None,
    ) -> CandidateJudgement:
        """Return the recorded judgement of a candidate; one without any is reverted."""
        key = source_key(candidate.kernel, candidate.tunables, dtype=subject.dtype)
        found = self._known.get((subject.entry.name, key))
        if found is None:
            return CandidateJudgement(Status.REVERTED, "the recording has no judgement of it")
        status = Status.REVERTED if found.status is Status.UNDECIDED else found.status
        return CandidateJudgement(
            status, found.error, found.ratio, found.steadiness, objectives=found.objectives
        )


class RecordedProfiler(Profiler):
    """Diagnoses versions as they were diagnosed in a recorded session."""

    def __init__(self, recording: Recording) -> None:
        self._known = {
            recording.attempts[number].source_key: each
            for number, each in recording.diagnoses.items()
            if number in recording.attempts
        }

    def diagnose(
        self, subject: SearchSubject, attempt: Attempt, history: Sequence[Attempt]
    ) -> Diagnosis:
        """Return the recorded diagnosis of an attempt, if there is one."""
        return self._known.get(attempt.source_key, NOT_MEASURED)

    @staticmethod
    def find_defects(subject: SearchSubject, attempt: Attempt) -> str:
        """Return '': recorded errors have what a checked build had found."""
        return ""
