"""Pieces of IR's text: lists, brackets, quotes."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "([{<", ")]}>"
_NESTED = re.compile(r'[(\[{<"]')


class IrError(Exception):
    """Text that is not IR as clang writes it, or IR of a kind that is not known here."""


def split(text: str, separator: str = ",") -> list[str]:
    """The items of a list, at the separators outside of brackets and quotes."""
    if _NESTED.search(text) is None:
        return [item for each in text.split(separator) if (item := each.strip())]
    items, depth, start, quoted = [], 0, 0, False
    for at, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == separator and depth == 0:
            items.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*items, last] if last else items


def closing(text: str, opening: int) -> int:
    """Where the bracket at `opening` closes. Raises IrError."""
    depth, quoted = 0, False
    for at in range(opening, len(text)):
        character = text[at]
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
            if depth == 0:
                return at
    raise IrError(f"a bracket does not close: {text[opening : opening + 60]!r}")
