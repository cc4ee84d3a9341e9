"""`c ? a : b` of records in different address spaces: their values, as in Metal.

Clang looks for a type that both are, qualifiers included, and finds none. So operands that name an
object go through mb::operand (mb/spaces.h), which takes the value of a record in a space.
"""

from __future__ import annotations

from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

_VALUES = frozenset({"true", "false", "nullptr", "sizeof", "throw"})
_ENDS = frozenset({",", ";", ")", "]", "}", ":"})


def rewrite_conditionals(tokens: Tokens, edits: Edits) -> None:
    """Let the operands of conditional operators that name objects be values where they must."""
    waiting: list[int] = []
    for index, text in enumerate(tokens.text):
        if text == "?":
            waiting.append(index)
            _rewrite(tokens, edits, index + 1)
        elif text in (";", "{", "}"):
            waiting.clear()
        elif text == ":" and waiting:
            waiting.pop()
            _rewrite(tokens, edits, index + 1)


def _rewrite(tokens: Tokens, edits: Edits, first: int) -> None:
    last = _behind_object(tokens, first)
    if last > first and tokens.at(last) in _ENDS:
        edits.insert(tokens.start[first], "mb::operand(")
        edits.insert(tokens.end(last - 1), ")")


def _behind_object(tokens: Tokens, index: int) -> int:
    """Behind `*p`, `a.b[i]` and the like that begin at `index`; `index` where there is none."""
    first = index
    while tokens.at(index) == "*":
        index += 1
    if not is_name(tokens.at(index)) or tokens.text[index] in _VALUES:
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
