"""One request to a model: what is asked, what comes back, and how it can fail."""

from __future__ import annotations

import email.utils
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, TypeVar


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Question:
    """A request: the conversation so far, and the form of the answer as a JSON schema.

    A `form` without a name leaves the answer free; a `temperature` of None is the provider's.
    """

    system: str
    messages: tuple[ChatMessage, ...]
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

    `status` is that of HTTP, 0 without an answer of the server. `retry_after_s` is the wait that
    the server requested. Tokens are as reported by the server, or estimated from the received text.
    """

    def __init__(
        self,
        message: str,
        *,
        passing: bool,
        status: int = 0,
        retry_after_s: float | None = None,
        tokens_in: int = 0,
        tokens_out: int = 0,
    ) -> None:
        super().__init__(message)
        self.passing = passing
        self.status = status
        self.retry_after_s = retry_after_s
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


class NoConnection(Failed):
    """No server could be reached."""


Heard = Callable[[str], None]


class Api(Protocol):
    """A protocol that models are asked by."""

    def ask(self, question: Question, heard: Heard) -> ModelAnswer:
        """Ask once. `heard` is called with every piece of the answer.

        Raise Failed; nothing else comes from a server or the way to it.
        """

    def check(self) -> None:
        """Raise Failed where there is no server, or where it does not take the key."""


# An answer as it comes in pieces, and what is known of its tokens when it breaks off.

# No tokenizer has more bytes of text in a token, on average.
MOST_BYTES_A_TOKEN = 8
# Names of errors within a stream that a retry may fix.
PASSING = ("overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error")
# An exhausted quota is reported as a rate limit, but waiting does not help.
LASTING = ("insufficient_quota",)
PASSING_STATUS = (408, 409, 429)


@dataclass
class Received:
    """The received part of an answer.

    `calls` are the arguments of tool calls by their number: some models answer so unasked.
    `thoughts` are what a model thinks, which counts as tokens and is not part of the answer.
    """

    question: Question
    heard: Heard
    pieces: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    refusal: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    begun: bool = False
    ending: Ending | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    nbytes: int = 0

    def add(self, text: str) -> None:
        """Add a piece of the answer."""
        self.pieces.append(text)
        self._count(text)

    def add_thought(self, text: str) -> None:
        """Add a piece of what the model thinks."""
        self.thoughts.append(text)
        self._count(text)

    @property
    def is_too_long(self) -> bool:
        """Whether the answer has more tokens than are allowed, whatever its tokens are."""
        return self.nbytes > MOST_BYTES_A_TOKEN * self.question.max_tokens

    def add_call(self, number: int, text: str) -> None:
        """Add a piece of the arguments of a tool call."""
        self.calls.setdefault(number, []).append(text)
        self._count(text)

    def _count(self, text: str) -> None:
        self.nbytes += len(text.encode(errors="replace"))
        self.heard(text)

    @property
    def text(self) -> str:
        """The text of the answer so far; the arguments of tool calls if there is no other text."""
        text = "".join(self.pieces)
        if text.strip() or not self.calls:
            return text
        return "\n".join("".join(parts) for parts in self.calls.values())

    def answer(self) -> ModelAnswer:
        """Return the whole answer; raises Failed if its end never came."""
        if self.ending is None:
            raise Failed("the connection was cut in mid-answer", passing=True)
        refused = self.ending is Ending.REFUSED and self.refusal
        text = "".join(self.refusal) if refused else self.text
        return ModelAnswer(text, self.ending, **self.tokens())

    def tokens(self) -> dict[str, int]:
        """Return tokens as reported by the server, else estimates; 0 before an answer begins."""
        if not self.begun:
            return {"tokens_in": 0, "tokens_out": 0}
        nbytes = self.nbytes + len("".join(self.refusal).encode(errors="replace"))
        tokens_in, tokens_out = self.tokens_in, self.tokens_out
        return {
            "tokens_in": self.question.tokens_at_most if tokens_in is None else tokens_in,
            "tokens_out": estimate_tokens(nbytes) if tokens_out is None else tokens_out,
        }


def estimate_tokens(nbytes: int) -> int:
    """About how many tokens a text of this length has, rather more than fewer."""
    return -(-nbytes // 2)


def translate_errors(
    library: Any, received: Received, tell: Callable[[str], str], ask: Callable[[], ModelAnswer]
) -> ModelAnswer:
    """Return `ask()`. Errors of the client library become Failed without references to them.

    `library` is the module `openai` or `anthropic`; `tell` removes keys from a message.
    """
    try:
        return ask()
    except Failed as error:
        raised = to_failed(error, received)
    except Exception as error:
        failed = _describe_failure(library, error, received, tell)
        if failed is None:
            raise
        raised = failed
    # Not in the handler: requests, which errors hold, have the key in their headers.
    raise raised


def to_failed(failed: Failed, received: Received) -> Failed:
    """Return the same failure, with the tokens that it took."""
    return type(failed)(
        str(failed),
        passing=failed.passing,
        status=failed.status,
        retry_after_s=failed.retry_after_s,
        **received.tokens(),
    )


def _describe_failure(
    library: Any, error: Exception, received: Received, tell: Callable[[str], str]
) -> Failed | None:
    import httpx2

    tokens = received.tokens()
    if isinstance(error, library.APIStatusError):
        return _of_status(error, tell, tokens)
    if isinstance(error, (library.APITimeoutError, httpx2.TimeoutException)):
        return Failed("the server was silent for too long", passing=True, **tokens)
    if isinstance(error, (library.APIConnectionError, httpx2.TransportError)):
        cut = Failed("the connection was cut in mid-answer", passing=True, **tokens)
        return cut if received.begun else NoConnection("no connection", passing=True, **tokens)
    if isinstance(error, library.APIError):
        may_pass = _kind(error) in PASSING or not _kind(error)
        return Failed(tell(f"the server broke off: {error.message}"), passing=may_pass, **tokens)
    if isinstance(
        error, (json.JSONDecodeError, UnicodeDecodeError, library.APIResponseValidationError)
    ):
        return Failed("the server's stream cannot be read", passing=True, **tokens)
    return None


def _kind(error: Any) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    found = inner.get("type") if isinstance(inner, dict) else body.get("type")
    return str(found or "")


def _of_status(error: Any, tell: Callable[[str], str], tokens: dict[str, int]) -> Failed:
    status, headers = error.status_code, error.response.headers
    if status < 400:
        # An error within a stream that had begun well.
        words = f"the server broke off: {_words(error)}"
        return Failed(tell(words), passing=_kind(error) in PASSING, **tokens)
    passing = status in PASSING_STATUS or status >= 500
    if headers.get("x-should-retry") == "false" or _kind(error) in LASTING:
        passing = False
    return Failed(
        tell(f"HTTP {status}: {_words(error)}"),
        passing=passing,
        status=status,
        retry_after_s=retry_after(headers),
        **tokens,
    )


def _words(error: Any) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message or error.message)[:500]


def retry_after(headers: Any, now: Callable[[], float] | None = None) -> float | None:
    """Seconds that a server asks to wait, by any of the forms of its header; None if it does not.

    `now` is the clock that a date is compared with, in seconds since 1970.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) / unit)
        except ValueError:
            date = email.utils.parsedate_tz(text)
            if date is not None:
                return max(0.0, email.utils.mktime_tz(date) - (now or time.time)())
    return None


# The longest time of an answer.

Piece = TypeVar("Piece")
CONNECT_S = 10.0
# The longest wait for the answer to a check, which no model has to think about.
CHECK_S = 10.0


@dataclass(frozen=True)
class RequestLimits:
    """`silence_s` between two bytes of a server, which may think before the first one.

    `answer_s` is for a whole answer. `clock` tells seconds.
    """

    silence_s: float = 300.0
    answer_s: float = 900.0
    clock: Callable[[], float] = time.monotonic

    def timeout(self, library: Any) -> Any:
        """Return the timeout of the client `library`; connecting has a shorter one."""
        silence_s = min(self.silence_s, self.answer_s)
        return library.Timeout(silence_s, connect=min(silence_s, CONNECT_S))

    def within(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pass on what comes in time; raises Failed when the answer takes too long."""
        end = self.clock() + self.answer_s
        for each in pieces:
            yield each
            if self.clock() > end:
                # Another would take as long, and cost as much.
                raise Failed(
                    f"the answer was not whole after {self.answer_s:g} s; raise --answer-seconds",
                    passing=False,
                )


# Asking again: how often, and how long to wait before.


@dataclass(frozen=True)
class Retries:
    """Up to `most` further requests for one that failed in passing.

    The wait doubles from `first_s` up to `longest_s`, less up to a quarter by chance, so that those
    who were refused together do not come back together. What a server asks for counts instead, up
    to `patience_s`. `sleep` and `chance` (from 0 to 1) can be replaced.
    """

    most: int = 4
    first_s: float = 1.0
    longest_s: float = 60.0
    patience_s: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait_s(self, failed: Failed, so_far: int) -> float | None:
        """Seconds to wait after `so_far` retries; None if there is to be no other try."""
        if not failed.passing or so_far >= self.most:
            return None
        if failed.retry_after_s is not None:
            return failed.retry_after_s if failed.retry_after_s <= self.patience_s else None
        wait: float = min(self.first_s * 2.0**so_far, self.longest_s)
        return wait * (1 - 0.25 * self.chance())
