"""Parse the location out of a finding's message, for programs that read results."""

from __future__ import annotations

import re
from dataclasses import dataclass

Position = tuple[int, int, int]

# Clang's form comes first: its message may begin with lines without a location.
_ERROR = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d{1,18}):(?P<column>\d{1,18}): (?:fatal )?error: ", re.MULTILINE
)
_LINE = re.compile(r"(?:^|\] )(?P<file>[^\n:\]]+):(?P<line>\d{1,18})(?::(?P<column>\d{1,18}))?: ")
# Messages may quote a candidate, so the number of digits is limited.
_BUFFER = re.compile(r"\b(?:of|before) `(\w+)(?:\[\d+\])?`|^\[[^\]]*\] (\w+): (?!\d)")
_BEFORE = re.compile(r"begins (\d{1,18}) bytes before")
_BYTE = re.compile(r"\bbyte (\d{1,18})")
_ADDRESS = re.compile(r"\baddress (0x[0-9a-fA-F]+|\(nil\))")
_INDEX = re.compile(
    r" at (?:\((?P<several>\d{1,18}(?:, ?\d{1,18}){0,31},?)\)|(?P<one>\d{1,18})), got "
)
_THREAD = re.compile(r"\bthread \((\d{1,18}), (\d{1,18}), (\d{1,18})\)")
_THREADGROUP = re.compile(r"\bthreadgroup \((\d{1,18}), (\d{1,18}), (\d{1,18})\)")


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """The location of a finding, as far as its message has it.

    `line` and `column` count from 1. `byte` is an offset in `buffer`, or in threadgroup memory if
    no buffer is named; negative offsets are before the start. `index` is the index of an output's
    element. `address` is an invalid pointer.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    buffer: str | None = None
    index: tuple[int, ...] | None = None
    byte: int | None = None
    address: str | None = None
    thread: Position | None = None
    threadgroup: Position | None = None


def place_of(message: str) -> FindingPlace:
    """Parse the location in a compiler's error, a fault or a message about a wrong result."""
    code = _ERROR.search(message) or _LINE.search(message)
    column = code["column"] if code else None
    return FindingPlace(
        file=code["file"] if code else None,
        line=int(code["line"]) if code else None,
        column=int(column) if column else None,
        buffer=_buffer(message),
        index=_index(message),
        byte=_byte(message),
        address=_address(message),
        thread=_position(_THREAD, message),
        threadgroup=_position(_THREADGROUP, message),
    )


def _buffer(message: str) -> str | None:
    found = _BUFFER.search(message)
    return (found[1] or found[2]) if found else None


def _index(message: str) -> tuple[int, ...] | None:
    found = _INDEX.search(message)
    if found is None:
        return None
    return tuple(int(each) for each in (found["several"] or found["one"]).split(",") if each)


def _byte(message: str) -> int | None:
    before = _BEFORE.search(message)
    if before:
        return -int(before[1])
    found = _BYTE.search(message)
    return int(found[1]) if found else None


def _address(message: str) -> str | None:
    found = _ADDRESS.search(message)
    return found[1].replace("(nil)", "0x0") if found else None


def _position(pattern: re.Pattern[str], message: str) -> Position | None:
    found = pattern.search(message)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
