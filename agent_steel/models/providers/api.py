"""One request to a model: what is asked, what comes back, and how it can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Question:
    """A request: the conversation so far, and the form of the answer as a JSON schema.

    A `form` without a name leaves the answer free; a `temperature` of None is the provider's.
    """

    system: str
    messages: tuple[Message, ...]
    form: str
    schema: Mapping[str, Any]
    max_tokens: int
    temperature: float | None = None

    @property
    def tokens_at_most(self) -> int:
        """No fewer tokens than the question has: of text and code one has more than two bytes."""
        texts = (self.system, str(dict(self.schema)), *(each.text for each in self.messages))
        return sum(len(each.encode()) for each in texts) // 2 + 16 * (len(self.messages) + 1)


class Ending(Enum):
    """The reason why a model stopped."""

    WHOLE = "whole"
    CUT = "cut"  # at the most tokens that it may use
    REFUSED = "refused"


@dataclass(frozen=True)
class ModelAnswer:
    """The answer of a model. The `text` of a refusal is its explanation, if any."""

    text: str
    ending: Ending
    tokens_in: int
    tokens_out: int


class Failed(Exception):  # noqa: N818 - of one request, of which there may be others
    """A request failed. `passing` is true where another try may do.

    `retry_after_s` is the wait that the server requested. Tokens are as reported by the server, or
    estimated from the received text.
    """

    def __init__(
        self,
        message: str,
        *,
        passing: bool,
        retry_after_s: float | None = None,
        tokens_in: int = 0,
        tokens_out: int = 0,
    ) -> None:
        super().__init__(message)
        self.passing = passing
        self.retry_after_s = retry_after_s
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


Heard = Callable[[str], None]


class Api(Protocol):
    """A protocol that models are asked by."""

    def ask(self, question: Question, heard: Heard) -> ModelAnswer:
        """Ask once. `heard` is called with every piece of the answer.

        Raise Failed; nothing else comes from a server or the way to it.
        """

    def check(self) -> None:
        """Raise Failed where there is no server, or where it does not take the key."""
