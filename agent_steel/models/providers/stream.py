"""An answer as it comes in pieces, and what is known of its tokens when it breaks off."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_steel.models.providers.api import Ending, Failed, Heard, ModelAnswer, Question

# Names of errors within a stream that a retry may fix.
PASSING = ("overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error")
# An exhausted quota is reported as a rate limit, but waiting does not help.
LASTING = ("insufficient_quota",)
PASSING_STATUS = (408, 409, 429)


@dataclass
class Received:
    """The received part of an answer."""

    question: Question
    heard: Heard
    pieces: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    begun: bool = False
    ending: Ending | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    def add(self, text: str) -> None:
        """Add a piece of the answer."""
        self.pieces.append(text)
        self.heard(text)

    def answer(self) -> ModelAnswer:
        """Return the whole answer; raises Failed if its end never came."""
        if self.ending is None:
            raise Failed("the connection was cut in mid-answer", passing=True)
        said = self.refusal if self.ending is Ending.REFUSED and self.refusal else self.pieces
        return ModelAnswer("".join(said), self.ending, **self.tokens())

    def tokens(self) -> dict[str, int]:
        """Return tokens as reported by the server, else estimates; 0 before an answer begins."""
        if not self.begun:
            return {"tokens_in": 0, "tokens_out": 0}
        text = "".join(self.pieces + self.refusal)
        tokens_in, tokens_out = self.tokens_in, self.tokens_out
        return {
            "tokens_in": self.question.tokens_at_most if tokens_in is None else tokens_in,
            "tokens_out": estimate_tokens(text) if tokens_out is None else tokens_out,
        }


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` has, rather more than fewer."""
    return -(-len(text.encode()) // 2)


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
    return Failed(
        str(failed),
        passing=failed.passing,
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
        message = "the connection was cut in mid-answer" if received.begun else "no connection"
        return Failed(message, passing=True, **tokens)
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
