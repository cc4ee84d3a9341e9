"""Replacements in a text, remembered so that places in the result lead back to the original."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_LINE_MARKER = re.compile(r"\s*#\s*(line\s+)?\d")


class Edits:
    """Collects replacements of ranges of `source`, then applies all of them at once.

    Of two replacements that overlap the one that begins first wins, of two that begin at the same
    place the longer; so whoever removes a whole declaration needs not know who edits inside.
    Insertions come in front of the replacement that begins at the same place.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._edits: list[tuple[int, int, str]] = []
        self._origin: list[tuple[int, int]] = []

    def replace(self, start: int, end: int, text: str) -> None:
        """Put `text` where [start, end) of the source was."""
        self._edits.append((start, -end, text))

    def insert(self, offset: int, text: str) -> None:
        """Put `text` in front of `offset`."""
        self._edits.append((offset, -offset, text))

    def blank(self, start: int, end: int) -> None:
        """Spaces instead of [start, end); line breaks and line markers stay."""
        lines = self.source[start:end].split("\n")
        kept = (line if _LINE_MARKER.match(line) else " " * len(line) for line in lines)
        self.replace(start, end, "\n".join(kept))

    def apply(self) -> str:
        """The edited text."""
        parts: list[str] = []
        self._origin = [(0, 0)]
        position, length = 0, 0
        for start, negative_end, text in sorted(self._edits, key=_order):
            if start < position:
                continue
            parts += (self.source[position:start], text)
            length += start - position
            self._origin.append((length, start))
            length += len(text)
            position = -negative_end
            self._origin.append((length, position))
        parts.append(self.source[position:])
        return "".join(parts)

    def map_to_source(self, offset: int) -> int:
        """Where in `source` the character at `offset` of the last applied text comes from."""
        which = bisect_right(self._origin, offset, key=lambda pair: pair[0]) - 1
        edited, original = self._origin[which]
        if which + 1 < len(self._origin):
            return min(original + offset - edited, self._origin[which + 1][1])
        return original + offset - edited


@dataclass(frozen=True)
class TranslationUnit:
    """Text for clang; from offset `body` on it is the user's source as `edits` changed it."""

    text: str
    edits: Edits
    source_start: int

    @property
    def preamble(self) -> str:
        """What stands before the user's source."""
        return self.text[: self.source_start]


def _order(edit: tuple[int, int, str]) -> tuple[int, bool, int]:
    start, negative_end, _ = edit
    return start, start != -negative_end, negative_end
