"""Read replies of a model: JSON objects of texts, in the forms in which models write them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_steel.source import MOST_BYTES, check_source
from metalbench.kernel.header import Kernel

NOTHING_LEFT = "none"
LONGEST = {"summary": 800, "technique": 80, "wording": 1200, "source": MOST_BYTES}
# More kernels of one answer are ignored.
MOST_KERNELS = 4
# Places where a JSON object may begin; more of them are not a reply.
MOST_PLACES = 1000
# A block of code in Markdown.
_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.M)
# Keys of a tool call, in the forms of several protocols.
_CALL = {"name", "arguments", "parameters", "input", "id", "type", "function", "index"}
_ARGUMENTS = ("arguments", "parameters", "input", "function")


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


def kernel_replies(text: str, parent: Kernel) -> list[KernelReply]:
    """Return the different next versions of `parent` in `text`, at least one. Raise ReplyError.

    An answer may have several JSON objects, several blocks of code in `source`, or blocks of code
    in place of `source`. Versions with a fault are left out if another version has none.
    """
    found: list[KernelReply] = []
    fault: ReplyError | None = None
    for each in _read_kernels(text):
        try:
            checked = _check_kernel(each, parent)
        except ReplyError as error:
            fault = fault or error
            continue
        if checked.source not in [other.source for other in found]:
            found.append(checked)
    if found:
        ideas = [each for each in found if not each.nothing_left]
        return (ideas or found)[:MOST_KERNELS]
    raise fault or ReplyError("it is empty")


def _read_kernels(text: str) -> Iterator[KernelReply]:
    """Yield the versions that a reply has, unchecked."""
    blocks = [each[2] for each in _FENCE.finditer(text) if each[1] != "json"]
    blocks = [each for each in blocks if not each.lstrip().startswith(("{", "["))]
    try:
        objects = _find_objects(text, LONGEST)
    except ReplyError:
        if not blocks:
            raise
        objects = []
    if blocks and all(LONGEST.keys().isdisjoint(each) for each in objects):
        objects = [_describe_blocks(text)]
    # Objects without sources name what the blocks hold.
    bare = [each for each in objects if "source" not in each]
    for each, block in zip(bare, blocks, strict=False):
        each["source"] = block
    if len(bare) == len(objects) == 1:
        objects += [{**bare[0], "source": block} for block in blocks[1:]]
    for each in objects:
        fields = {name: value.strip() for name, value in _check_fields(each, LONGEST).items()}
        reply = KernelReply(**fields)
        sources = [block[2] for block in _FENCE.finditer(f"{reply.source}\n")] or [reply.source]
        yield from (replace(reply, source=source.strip()) for source in sources)


def _describe_blocks(text: str) -> dict[str, Any]:
    """Return the texts of a reply that is prose with blocks of code: its prose is the summary."""
    prose = _FENCE.sub("", text)
    lines = [line.strip(" \t#*-:`") for line in prose.splitlines()]
    lines = [line for line in lines if line]
    summary = " ".join(lines) or "The answer has no summary."
    return {
        "summary": _cut(summary, LONGEST["summary"]),
        "technique": _cut(lines[0] if lines else "not named", LONGEST["technique"]),
        "wording": "",
    }


def _cut(text: str, longest: int) -> str:
    return text.encode()[:longest].decode(errors="ignore")


def _check_kernel(reply: KernelReply, parent: Kernel) -> KernelReply:
    if reply.nothing_left:
        return reply
    for name in ("summary", "technique"):
        if not getattr(reply, name):
            raise ReplyError(f"`{name}` is empty")
    fault = check_source(reply.source, parent)
    if fault:
        raise ReplyError(f"`source`: {fault}")
    return replace(reply, source=reply.source + "\n")


def texts(text: str, longest: Mapping[str, int]) -> dict[str, str]:
    """Return the texts of the one JSON object in `text`: those of `longest`, each at most so long.

    The object may be in a block of code, in a tool call, or in prose. Raise ReplyError if there is
    none, or several different ones.
    """
    objects = _find_objects(text, longest)
    if any(each != objects[0] for each in objects):
        raise ReplyError(f"expected one JSON object, got {len(objects)}")
    return _check_fields(objects[0], longest)


def _check_fields(fields: dict[str, Any], longest: Mapping[str, int]) -> dict[str, str]:
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


def _find_objects(text: str, names: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the JSON objects in a text that have one of the names; else its first object.

    Objects within tool calls and lists count. Raise ReplyError if there is no object.
    """
    stripped = text.strip()
    if not stripped:
        raise ReplyError("it is empty")
    # Models write ends of lines in texts as they are, which strict JSON does not allow.
    decoder = json.JSONDecoder(object_pairs_hook=_once, strict=False)
    found: list[dict[str, Any]] = []
    fault = ""
    place, tries = stripped.find("{"), 0
    while place >= 0 and tries < MOST_PLACES:
        tries += 1
        try:
            value, end = decoder.raw_decode(stripped, place)
        except (ValueError, RecursionError) as error:
            fault = fault or f"it is not JSON: {error}"
            end = place + 1
        else:
            found += _unwrap(value, names)
        place = stripped.find("{", end)
    named = [each for each in found if not names.keys().isdisjoint(each)]
    if found:
        return named or found[:1]
    raise ReplyError(fault or f"expected a JSON object, got {stripped[:60]!r}")


def _unwrap(value: Any, names: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the objects that a tool call or an object with a list of them holds, or itself."""
    if not isinstance(value, dict) or not value:
        return []
    if value.keys() <= _CALL and (name := next((n for n in _ARGUMENTS if n in value), "")):
        inner = value[name]
        if isinstance(inner, str):
            try:
                inner = json.JSONDecoder(object_pairs_hook=_once, strict=False).decode(inner)
            except (ValueError, RecursionError) as error:
                raise ReplyError(f"the arguments of the tool call are not JSON: {error}") from None
        return _unwrap(inner, names)
    if names.keys().isdisjoint(value) and len(value) == 1:
        (inner,) = value.values()
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner):
            return [each for item in inner for each in _unwrap(item, names)]
    return [value]


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
