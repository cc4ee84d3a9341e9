"""Answers of a proposer as attempts, of which none is judged twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Fate
from agent_steel.proposal import Brief, Proposal, Proposer, ProposerError, Usage
from agent_steel.source import source_key, text_key
from agent_steel.subject import Subject
from metalbench.errors import DeclarationError

if TYPE_CHECKING:
    from agent_steel.history import History

NOT_JUDGED = (Fate.PENDING, Fate.UNUSABLE, Fate.REPEATED)


def baseline(subject: Subject, session: int) -> Attempt:
    """Return the kernel as its file is."""
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
        fate=Fate.BASELINE,
        summary=f"{subject.kernel.path.name} as it is.",
    )


@dataclass(frozen=True)
class Answered:
    """What is answered in a session about a kernel."""

    subject: Subject
    session: int
    proposer: Proposer

    def attempt(self, history: History, brief: Brief, answer: Proposal | ProposerError) -> Attempt:
        """Return the attempt that an answer is, pending where it is new and can be tried."""
        if isinstance(answer, Proposal):
            return self._proposed(history, brief, answer)
        usage = getattr(answer, "usage", None)
        known = usage if isinstance(usage, Usage) else Usage()
        return self._made(brief, fate=Fate.UNUSABLE, error=str(answer), usage=known)

    def _proposed(self, history: History, brief: Brief, proposal: Proposal) -> Attempt:
        try:
            kernel = self.subject.kernel_of(replace(brief.parent, source=proposal.source))
            key = source_key(kernel, proposal.tunables, dtype=brief.dtype)
        except DeclarationError:
            key = text_key(proposal.source)  # judging says what is wrong with it
        known = self._known(history, key)
        return self._made(
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
        """Return an attempt that is the same and was judged, or is to be in this session."""
        for each in history.attempts(self.subject.place):
            own = each.fate is Fate.PENDING and each.session == self.session
            if each.source_key == key and (own or each.fate not in NOT_JUDGED):
                return each
        return None

    def _made(self, brief: Brief, **known: Any) -> Attempt:
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
