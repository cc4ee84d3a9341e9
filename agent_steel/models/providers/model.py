"""A model that is asked until it answers in the form that is wanted, within what may be spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from time import monotonic
from typing import Any, Generic, TypeVar

from agent_steel.models import prompt
from agent_steel.models.ledger import Charge, Ledger, SpendingRecorder
from agent_steel.models.local_paths import remove_local_paths
from agent_steel.models.prompts import Prompts
from agent_steel.models.providers.api import (
    Api,
    ChatMessage,
    Ending,
    Failed,
    ModelAnswer,
    NoConnection,
    Question,
    Retries,
)
from agent_steel.models.replies import KERNEL_SCHEMA, KernelReply, ReplyError, kernel_replies
from agent_steel.proposal import (
    Brief,
    Exchange,
    NothingLeft,
    Progress,
    Proposal,
    ProposerError,
    RefusedError,
    Usage,
)

Reply = TypeVar("Reply")
# The part of an invalid reply that is sent back to the model.
LONGEST_SHOWN = 100_000
# The number of tokens between two lines of progress.
TOKENS_A_LINE = 500
BYTES_A_TOKEN = 4


@dataclass(frozen=True)
class AnswerForm(Generic[Reply]):
    """The form of an answer. `read` parses the text, or raises ReplyError with the reason."""

    name: str
    schema: Mapping[str, Any]
    read: Callable[[str], Reply]


@dataclass(frozen=True)
class Model:
    """A model of a provider. Several threads may ask it at the same time.

    `corrections` is how often a malformed answer is sent back; `without_key` takes the key out of
    what is sent, should it have come there.
    """

    provider: str
    name: str
    api: Api
    ledger: Ledger
    prompts: Prompts
    max_tokens: int
    retries: Retries = field(default_factory=Retries)
    corrections: int = 2
    without_key: Callable[[str], str] = str

    def check(self) -> None:
        """Raise ProposerError where the server cannot be reached, or refuses the key.

        A server that has no list of models may still answer questions.
        """
        failed = _check_failure(self.api)
        if failed is not None and _is_down(failed):
            self.retries.sleep(self.retries.first_s)
            failed = _check_failure(self.api)
        if failed is None:
            return
        if failed.status in (401, 403) or _is_down(failed):
            raise ProposerError(
                f"[{self.provider}] {self.name} cannot be asked: {self.without_key(str(failed))}"
                f"{_STEPS.get(failed.status, _NO_SERVER)}"
            )

    def ask(
        self, system: str, text: str, form: AnswerForm[Reply], say: Progress
    ) -> tuple[Reply, Usage, tuple[Exchange, ...]]:
        """Ask for a reply of `form`; returns it with its cost and requests, corrections included.

        Raise SpentError before a request that may cost too much, and ProposerError if there is no
        reply after retries or the model refuses. Both have the `usage` and `exchanges` so far.
        """
        conversation = _Conversation(self, self.without_key(system), form, say)
        conversation.messages.append(ChatMessage("user", self.without_key(text)))
        try:
            reply = conversation.reply()
        except ProposerError as error:
            error.usage, error.exchanges = conversation.usage, tuple(conversation.exchanges)
            raise
        return reply, conversation.usage, tuple(conversation.exchanges)

    def answer(
        self, system: str, text: str, say: Progress, *, temperature: float | None = None
    ) -> tuple[ModelAnswer, Usage]:
        """Ask for one answer in whatever form it comes, and return it with what it has cost.

        One that was refused or cut off is an answer too. Raise as `ask`.
        """
        conversation = _Conversation(self, self.without_key(system), _FREE, say)
        conversation.temperature = temperature
        conversation.messages.append(ChatMessage("user", self.without_key(text)))
        try:
            return conversation.answer(), conversation.usage
        except ProposerError as error:
            error.usage = conversation.usage
            raise


def _check_failure(api: Api) -> Failed | None:
    try:
        api.check()
    except Failed as failed:
        return failed
    return None


def _is_down(failed: Failed) -> bool:
    """Return whether no server answers, or one that stands before it says so."""
    return failed.status in (0, 500, 502, 503, 504)


# Defaults for answers of every form.
_FREE: AnswerForm[str] = AnswerForm("", {}, str)


class _Conversation(Generic[Reply]):
    """One question with its retries and corrections."""

    def __init__(self, model: Model, system: str, form: AnswerForm[Reply], say: Progress) -> None:
        self._model = model
        self._system = system
        self._form = form
        self._say = say
        self.messages: list[ChatMessage] = []
        self.temperature: float | None = None
        self.usage = Usage()
        self.exchanges: list[Exchange] = []

    def reply(self) -> Reply:
        for left in range(self._model.corrections, -1, -1):
            answer = self.answer()
            try:
                return self._read(answer)
            except ReplyError as error:
                reason = remove_local_paths(self._model.without_key(str(error)))
            except ProposerError as error:
                self._note_error(str(error))
                raise
            self._note_error(reason)
            if left:
                self._say(f"{self._model.name}: {reason}; asked to correct it")
                self._correct(answer, reason)
        raise self._error(
            f"gave no answer that can be read, in {self._model.corrections + 1} attempts; the last "
            f"one: {reason}"
        )

    def _note_error(self, reason: str) -> None:
        """Note why the last answer cannot be used."""
        self.exchanges[-1] = replace(self.exchanges[-1], error=reason)

    def _read(self, answer: ModelAnswer) -> Reply:
        if answer.ending is Ending.REFUSED:
            why = self._model.without_key(answer.text.strip())[:500]
            raise self._error(f"refused to answer{f': {why}' if why else ''}")
        if answer.ending is Ending.CUT:
            raise ReplyError(
                f"the answer was cut off at {answer.tokens_out} tokens, of {self._model.max_tokens}"
                " that it may have; be shorter"
            )
        return self._form.read(answer.text)

    def _correct(self, answer: ModelAnswer, reason: str) -> None:
        shown = answer.text[:LONGEST_SHOWN]
        # No API takes an empty turn.
        self.messages.append(
            ChatMessage("assistant", self._model.without_key(shown) or "(nothing)")
        )
        text = self._model.prompts.fill("correction", reason=reason)
        self.messages.append(ChatMessage("user", text))

    def answer(self) -> ModelAnswer:
        """Ask until there is an answer."""
        so_far = 0
        while True:
            failed = None
            try:
                return self._ask()
            except Failed as error:
                failed = error
            wait_s = self._model.retries.wait_s(failed, so_far)
            if wait_s is None:
                gave_up = self._error(_give_up(failed, so_far))
                raise RefusedError(str(gave_up)) if _refuses_all(failed) else gave_up
            so_far += 1
            self._say(f"{self._model.name}: {failed}; asking again in {wait_s:.1f} s")
            self._model.retries.sleep(wait_s)

    def _ask(self) -> ModelAnswer:
        model = self._model
        question = Question(
            self._system,
            tuple(self.messages),
            self._form.name,
            self._form.schema,
            model.max_tokens,
            self.temperature,
        )
        ledger = model.ledger.request(model.name, question.tokens_at_most, model.max_tokens)
        charge: Charge | None = None
        text, fault = "", ""
        asked_at, begin = datetime.now(timezone.utc), monotonic()
        try:
            with ledger as charge:
                self._say(f"asked {model.name}")
                try:
                    answer = model.api.ask(question, _Heard(model.name, self._say))
                except Failed as error:
                    fault = model.without_key(str(error))
                    charge.settle(error.tokens_in, error.tokens_out)
                    raise
                text = model.without_key(answer.text)
                charge.settle(answer.tokens_in, answer.tokens_out)
                return answer
        finally:
            if charge is not None:
                self.usage += charge.usage
                self.exchanges.append(
                    Exchange(
                        system=self._system,
                        prompt=self.messages[-1].text,
                        answer=text,
                        error=fault,
                        usage=charge.usage,
                        asked_at=asked_at.isoformat(timespec="seconds"),
                        seconds=monotonic() - begin,
                    )
                )

    def _error(self, message: str) -> ProposerError:
        return ProposerError(f"[{self._model.provider}] {self._model.name} {message}")


class _Heard:
    """Says now and then how much of an answer has come."""

    def __init__(self, name: str, say: Progress) -> None:
        self._name = name
        self._say = say
        self._tokens = 0.0
        self._said = 0

    def __call__(self, text: str) -> None:
        self._tokens += len(text.encode()) / BYTES_A_TOKEN
        if self._tokens - self._said >= TOKENS_A_LINE:
            self._said = int(self._tokens)
            self._say(f"asked {self._name}, about {self._tokens / 1000:.1f} k tokens so far")


def _give_up(failed: Failed, retries: int) -> str:
    if failed.passing and failed.retry_after_s is not None and not retries:
        return f"did not answer: {failed}; it asks to come back in {failed.retry_after_s:.0f} s"
    if failed.passing:
        step = _NO_SERVER if isinstance(failed, NoConnection) else ""
        return f"did not answer, in {retries + 1} requests; the last one: {failed}{step}"
    return f"did not answer: {failed}{_STEPS.get(failed.status, '')}"


# The next step where no server answers, and by the status of HTTP.
_NO_SERVER = "; is --base-url right, and the server running?"
_STEPS = {
    400: "; a server without structured output needs --structured text",
    401: "; is the key in the environment right?",
    402: "; is there credit left?",
    403: "; may this key use this model?",
    404: "; are --model and --base-url right?",
}


def _refuses_all(failed: Failed) -> bool:
    """Return whether every other request fails, too: no access, no model or no money."""
    return failed.status in (401, 402, 403, 404) or (failed.status == 429 and not failed.passing)


# The proposer that asks a language model for the next version of a kernel.


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

    def record_spending(self, recorder: SpendingRecorder) -> None:
        """Record each request from now on."""
        self._asked.ledger.recorder = recorder

    def propose(self, brief: Brief, say: Progress) -> Proposal | NothingLeft:
        """Ask for the next version; NothingLeft if the model knows of nothing more to try.

        Raise SpentError before a request that may cost too much, ProposerError if there is no
        answer that can be read.
        """
        prompts = self._asked.prompts
        system = prompts.fill("optimizer_system", headers=prompt.headers())
        text = prompts.fill("optimizer", **prompt.prompt_values(brief))
        form: AnswerForm[list[KernelReply]] = AnswerForm(
            "kernel", KERNEL_SCHEMA, lambda answer: kernel_replies(answer, brief.kernel)
        )
        replies, usage, exchanges = self._asked.ask(system, text, form, say)
        return make_proposal(replies, usage, exchanges)


def make_proposal(
    replies: Sequence[KernelReply], usage: Usage, exchanges: tuple[Exchange, ...]
) -> Proposal | NothingLeft:
    """Return the proposal of a model's replies, with what they have cost and their requests."""
    if replies[0].nothing_left:
        return NothingLeft(exchanges)
    first, *others = (
        Proposal(each.source, each.summary, each.technique, wording=each.wording)
        for each in replies
    )
    return replace(first, usage=usage, others=tuple(others), exchanges=exchanges)
