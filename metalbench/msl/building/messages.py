"""Parse clang's messages and translate them: Metal's type names, no locations in MSL headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from metalbench.msl.building.toolchain import find_toolchain
from metalbench.msl.ir.places import OWN
from metalbench.msl.reading.tokens import Location

REPORT = "please report it with the kernel and with what `metalbench doctor` prints"
_MESSAGE = re.compile(
    r"(?P<file>[^:\n]+):(?P<line>\d{1,10}):(?P<column>\d{1,10}): "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)"
)
_INCLUDED = re.compile(r"In file included from .*|\s+from .*:\d+[,:]|\d+ errors? generated\.")
_ARITY = re.compile(r"not viable: (requires .*)")
# Files of pasted tokens, and of the text around a source.
_OWN_FILES = ("<scratch space>", OWN)

_REPLACEMENTS = [
    (re.compile(r"\bunsigned (char|short|int|long)\b"), r"u\1"),
    (re.compile(r"\bsigned char\b"), "char"),
    (re.compile(r"\b_Float16\b"), "half"),
    (re.compile(r"\b__bf16\b"), "bfloat"),
    # The headers encode a size as an array bound: mb_vec<float, char[4]>.
    (re.compile(r"\bmb_((?:packed_)?vec)<([\w: ]+), char\[([^]]+)\]>"), r"\1<\2, \3>"),
    (
        re.compile(r"\bmb_matrix<([\w: ]+), char\[([^]]+)\], char\[([^]]+)\]>"),
        r"matrix<\1, \2, \3>",
    ),
    (re.compile(r"\bmb_array<(.+?), char\[([^]]+)\]>"), r"array<\1, \2>"),
    (re.compile(r"\b(?:metal::)?(packed_)?vec<(\w+), ([234])>"), r"\1\2\3"),
    (re.compile(r"\b(?:metal::)?packed_vec<(\w+), ([234])>"), r"packed_\1\2"),
    (re.compile(r"\b(?:metal::)?matrix<(\w+), ([234]), ([234])>"), r"\1\2x\3"),
    (re.compile(r"\b(?:metal::)?simdgroup_matrix<(\w+), 8, 8>"), r"simdgroup_\g<1>8x8"),
    (re.compile(r"\b(?:metal::)?_atomic<(\w+)>"), r"atomic_\1"),
    (re.compile(r"\bmb_storage_"), ""),
    # Address spaces, as clang and as its linker write them.
    (re.compile(r"\b(?:const )?__global_host\b|\bSYhost\b(?: const)?"), "constant"),
    (re.compile(r"\b(?:__global_|SY)device\b"), "device"),
    (re.compile(r"\b(?:__|SY)local\b"), "threadgroup"),
    (re.compile(r"\bin generic address space\b"), "in address space 'thread'"),
    (re.compile(r"'((?:metal::)?[^']*)' \(aka '(?:metal::)?\1'\)"), r"'\1'"),
    (re.compile(r"'metal::(\w+)' \(aka '\1'\)"), r"'\1'"),
]


def spell_as_metal(message: str) -> str:
    """Return a message with types as Metal spells them: float4, not vec<float, 4>."""
    for pattern, text in _REPLACEMENTS:
        message = pattern.sub(text, message)
    return message


@dataclass(frozen=True)
class Message:
    """An error, warning or note; `lines` are the source lines that clang quotes."""

    location: Location
    kind: str
    text: str
    lines: tuple[str, ...] = ()
    notes: list[Message] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        """Whether the location is in the MSL headers or in text that the engine added."""
        own = (*_OWN_FILES, *(f"{folder}/" for folder in find_toolchain().own_folders))
        return self.location.file.startswith(own)


def _split_messages(text: str) -> Iterator[Message | str]:
    """Yield messages with their quoted lines; other lines unchanged."""
    found: Message | None = None
    for line in text.split("\n"):
        match = _MESSAGE.fullmatch(line)
        if match:
            if found is not None:
                yield found
            at = Location(match["file"], int(match["line"]), int(match["column"]))
            found = Message(at, match["kind"], match["text"])
        elif _INCLUDED.fullmatch(line):
            continue
        elif found is not None and re.match(r" *\d* \| ?", line):
            found = replace(found, lines=(*found.lines, line))
        else:
            if found is not None:
                yield found
                found = None
            yield line
    if found is not None:
        yield found


def parse_messages(text: str) -> list[Message | str]:
    """Return errors with their notes, at locations in the user's files if there are any.

    An error in the MSL headers moves to the call that led there. Notes in the headers are dropped.
    """
    found: list[Message | str] = []
    for item in _split_messages(text):
        last = found[-1] if found else None
        if isinstance(item, Message) and item.kind == "note" and isinstance(last, Message):
            last.notes.append(item)
        else:
            found.append(item)
    moved = [_move_to_caller(item) if isinstance(item, Message) else item for item in found]
    return [item for index, item in enumerate(moved) if item not in moved[:index]]


def _move_to_caller(message: Message) -> Message:
    """Return a message at the user's location, without notes in the headers."""
    notes = [note for note in message.notes if not note.is_internal]
    if message.is_internal and notes:
        caller = next((note for note in notes if "requested here" in note.text), notes[0])
        others = [note for note in notes if note is not caller]
        return replace(message, location=caller.location, lines=caller.lines, notes=others)
    reasons = {match[1] for note in message.notes if (match := _ARITY.search(note.text))}
    if message.text.startswith("no matching function") and len(reasons) == 1:
        return replace(message, text=f"{message.text}: it {reasons.pop()}", notes=notes)
    return replace(message, notes=notes)
