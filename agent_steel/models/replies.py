"""Parse replies of a model strictly. Deviations from the form are errors."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_steel.source import MOST_BYTES, check_source
from metalbench.kernel.header import Kernel

NOTHING_LEFT = "none"
LONGEST = {"summary": 800, "technique": 80, "wording": 1200, "source": MOST_BYTES}


class ReplyError(Exception):
    """A reply is not of the form that was asked for; the message is for the model."""


def object_schema(fields: Mapping[str, str]) -> dict[str, Any]:
    """The JSON schema of an object of texts, with what each is; nothing may lack or be added."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text} for name, text in fields.items()
        },
        "required": list(fields),
        "additionalProperties": False,
    }


KERNEL_SCHEMA = object_schema(
    {
        "summary": "Two sentences: what is different, and why that should be faster.",
        "technique": f"Its name in a few words; {NOTHING_LEFT!r} if nothing is left to try.",
        "wording": "The diagnosis in your own words.",
        "source": "The full .metal file.",
    }
)


@dataclass(frozen=True)
class KernelReply:
    """The next version of a kernel, as a model tells it."""

    summary: str
    technique: str
    wording: str
    source: str

    @property
    def nothing_left(self) -> bool:
        """Whether the model knows of nothing more to try."""
        return self.technique.lower() == NOTHING_LEFT and not self.source.strip()


def kernel_reply(text: str, parent: Kernel) -> KernelReply:
    """Return the reply that `text` is, for the next version of `parent`; raises ReplyError."""
    fields = texts(text, LONGEST)
    reply = KernelReply(**{name: each.strip() for name, each in fields.items()})
    if reply.nothing_left:
        return reply
    for name in ("summary", "technique"):
        if not getattr(reply, name):
            raise ReplyError(f"`{name}` is empty")
    fault = check_source(reply.source, parent)
    if fault:
        raise ReplyError(f"`source`: {fault}")
    return KernelReply(reply.summary, reply.technique, reply.wording, reply.source + "\n")


def texts(text: str, longest: Mapping[str, int]) -> dict[str, str]:
    """Return the texts of the JSON object that `text` is: those of `longest`, each at most so long.

    Raise ReplyError if it is anything else.
    """
    fields = _object(text)
    for name in longest:
        if name not in fields:
            raise ReplyError(f"`{name}` is missing")
    for name, value in fields.items():
        if name not in longest:
            raise ReplyError(f"`{name}` was not asked for; expected {', '.join(longest)}")
        if not isinstance(value, str):
            raise ReplyError(f"`{name}`: expected a text, got {type(value).__name__}")
        _check_text(name, value, longest[name])
    return fields


def _object(text: str) -> dict[str, Any]:
    stripped = text.strip()
    if not stripped:
        raise ReplyError("it is empty")
    if not stripped.startswith("{"):
        raise ReplyError(f"expected one JSON object, got text before it: {stripped[:60]!r}")
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    try:
        value, end = decoder.raw_decode(stripped)
    except ReplyError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"it is not JSON: {error}") from None
    if stripped[end:].strip():
        after = stripped[end:].strip()[:60]
        raise ReplyError(f"expected one JSON object, got text behind it: {after!r}")
    fields: dict[str, Any] = value
    return fields


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ReplyError(f"`{min(twice)}` is there twice")
    return dict(pairs)


def _check_text(name: str, value: str, longest: int) -> None:
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ReplyError(f"`{name}` is not valid text: it has a lone surrogate") from None
    if size > longest:
        raise ReplyError(f"`{name}`: expected at most {longest} bytes, got {size}")
    # Such as would show a reader other text than what is there.
    odd = next((each for each in value if category(each) in ("Cc", "Cf", "Co")), None)
    if odd is not None:
        raise ReplyError(f"`{name}` has a control character, U+{ord(odd):04X}")


def category(character: str) -> str:
    """Return the general category in Unicode; that of a letter for ends of lines and tabs."""
    return "Ll" if character in "\n\t\r" else unicodedata.category(character)
