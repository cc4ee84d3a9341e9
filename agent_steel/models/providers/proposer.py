"""The proposer that asks a language model for the next version of a kernel."""

from __future__ import annotations

from agent_steel.models import told
from agent_steel.models.providers.model import Form, Model
from agent_steel.models.replies import KERNEL_SCHEMA, KernelReply, kernel_reply
from agent_steel.proposal import Brief, Progress, Proposal, Usage


class ModelProposer:
    """Fills the optimizer's prompt from a brief and asks `asked`; see `Proposer`."""

    def __init__(self, asked: Model) -> None:
        self._asked = asked

    @property
    def name(self) -> str:
        """The provider."""
        return self._asked.provider

    @property
    def model(self) -> str:
        """The model's name at the provider."""
        return self._asked.name

    @property
    def usage(self) -> Usage:
        """All that it has cost so far, failed requests included."""
        return self._asked.ledger.usage

    def check(self) -> None:
        """Raise ProposerError where the model cannot be asked at all."""
        self._asked.check()

    def propose(self, brief: Brief, say: Progress) -> Proposal | None:
        """Ask for the next version; None if the model knows of nothing more to try.

        Raise SpentError before a request that may cost too much, ProposerError if there is no
        answer that can be read.
        """
        prompts = self._asked.prompts
        system = prompts.fill("optimizer_system", headers=told.headers())
        text = prompts.fill("optimizer", **told.prompt_values(brief))
        form: Form[KernelReply] = Form(
            "kernel", KERNEL_SCHEMA, lambda answer: kernel_reply(answer, brief.kernel)
        )
        reply, usage = self._asked.ask(system, text, form, say)
        if reply.nothing_left:
            return None
        return Proposal(
            source=reply.source,
            summary=reply.summary,
            technique=reply.technique,
            usage=usage,
            wording=reply.wording,
        )
