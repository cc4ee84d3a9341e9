"""Apply replacements to a text, with a map from offsets of the result to the original."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_LINE_MARKER = re.compile(r"\s*#\s*(line\s+)?\d")


class Edits:
    """Collect replacements of ranges of `source`, then apply all of them at once.

    If two replacements overlap, the one that begins first wins; at the same start, the longer one.
    So the removal of a declaration overrides all edits inside. Insertions precede the replacement
    that begins at the same offset.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._edits: list[tuple[int, int, str]] = []
        self._origin: list[tuple[int, int]] = []

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace [start, end) of the source by `text`."""
        self._edits.append((start, -end, text))

    def insert(self, offset: int, text: str) -> None:
        """Insert `text` before `offset`."""
        self._edits.append((offset, -offset, text))

    def blank(self, start: int, end: int) -> None:
        """Replace [start, end) by spaces. Line breaks and line markers stay."""
        lines = self.source[start:end].split("\n")
        kept = (line if _LINE_MARKER.match(line) else " " * len(line) for line in lines)
        self.replace(start, end, "\n".join(kept))

    def apply(self) -> str:
        """Return the edited text."""
        parts: list[str] = []
        self._origin = [(0, 0)]
        position, length = 0, 0
        for start, negative_end, text in sorted(self._edits, key=_order_edit):
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
        """Return the offset in `source` of the character at `offset` of the last applied text."""
        which = bisect_right(self._origin, offset, key=lambda pair: pair[0]) - 1
        edited, original = self._origin[which]
        if which + 1 < len(self._origin):
            return min(original + offset - edited, self._origin[which + 1][1])
        return original + offset - edited


@dataclass(frozen=True)
class TranslationUnit:
    """C++ text for clang; the user's source with `edits` begins at offset `source_start`."""

    text: str
    edits: Edits
    source_start: int

    @property
    def preamble(self) -> str:
        """The text before the user's source. Clang can precompile it."""
        return self.text[: self.source_start]


def _order_edit(edit: tuple[int, int, str]) -> tuple[int, bool, int]:
    start, negative_end, _ = edit
    return start, start != -negative_end, negative_end
