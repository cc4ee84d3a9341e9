"""Rewrite `c ? a : b` with records in different address spaces, of which Metal takes the values.

Clang looks for a common type that includes the qualifiers, and finds none. So operands that name an
object are wrapped in mb::operand (mb/spaces.h), which copies a record out of its address space.
"""

from __future__ import annotations

from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

_NOT_OBJECTS = frozenset({"true", "false", "nullptr", "sizeof", "throw"})
_OPERAND_ENDS = frozenset({",", ";", ")", "]", "}", ":"})


def rewrite_conditionals(tokens: Tokens, edits: Edits) -> None:
    """Wrap the operands of conditional operators that name objects."""
    waiting: list[int] = []
    for index, text in enumerate(tokens.text):
        if text == "?":
            waiting.append(index)
            _wrap_operand(tokens, edits, index + 1)
        elif text in (";", "{", "}"):
            waiting.clear()
        elif text == ":" and waiting:
            waiting.pop()
            _wrap_operand(tokens, edits, index + 1)


def _wrap_operand(tokens: Tokens, edits: Edits, first: int) -> None:
    last = _skip_object(tokens, first)
    if last > first and tokens.at(last) in _OPERAND_ENDS:
        edits.insert(tokens.start[first], "mb::operand(")
        edits.insert(tokens.end(last - 1), ")")


def _skip_object(tokens: Tokens, index: int) -> int:
    """Return the index after `*p`, `a.b[i]` and the like; `index` if there is no object."""
    first = index
    while tokens.at(index) == "*":
        index += 1
    if not is_name(tokens.at(index)) or tokens.text[index] in _NOT_OBJECTS:
        return first
    index += 1
    while index < len(tokens):
        if tokens.text[index] in (".", "->", "::") and is_name(tokens.at(index + 1)):
            index += 2
        elif tokens.text[index] == "[" and tokens.partner[index] > 0:
            index = tokens.partner[index] + 1
        else:
            break
    return index
