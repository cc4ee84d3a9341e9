"""Convert answers of a proposer into attempts. Repeated attempts are not judged again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status
from agent_steel.proposal import Brief, Proposal, Proposer, ProposerError, Usage
from agent_steel.source import source_key, text_key
from agent_steel.subject import Subject
from metalbench.errors import DeclarationError

if TYPE_CHECKING:
    from agent_steel.history import History

NOT_JUDGED = (Status.PENDING, Status.UNUSABLE, Status.REPEATED)


def baseline(subject: Subject, session: int) -> Attempt:
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

    subject: Subject
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
        """Return an equal attempt that was judged, or is pending in this session."""
        for each in history.attempts(self.subject.place):
            own = each.status is Status.PENDING and each.session == self.session
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
            **{"source": "", "source_key": "", **known},
        )
