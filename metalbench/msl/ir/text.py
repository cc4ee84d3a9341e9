"""Pieces of IR's text: lists, brackets, quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPEN, _CLOSE = "([{<", ")]}>"
_MARK = re.compile(r'[(\[{<)\]}>,"]')
_NESTED = re.compile(r'[(\[{<"]')


class IrError(Exception):
    """Text that is not IR as clang writes it, or IR of a kind that is not known here."""


def split(text: str) -> list[str]:
    """Split a list at the commas outside of brackets and quotes."""
    if _NESTED.search(text) is None:
        return [item for each in text.split(",") if (item := each.strip())]
    items, start = [], 0
    for at, depth in _depths(text, 0):
        if depth == 0 and text[at] == ",":
            items.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*items, last] if last else items


def closing(text: str, opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`. Raises IrError."""
    for at, depth in _depths(text, opening):
        if depth == 0 and text[at] in _CLOSE:
            return at
    raise IrError(f"a bracket does not close: {text[opening : opening + 60]!r}")


def _depths(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Every bracket and comma outside of quotes, with the brackets that are open behind it."""
    depth, quoted = 0, False
    for mark in _MARK.finditer(text, start):
        character = mark[0]
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in _OPEN) - (character in _CLOSE)
            yield mark.start(), depth
