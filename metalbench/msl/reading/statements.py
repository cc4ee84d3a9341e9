"""Find the bodies of loops, and the ends of statements."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from metalbench.msl.reading.tokens import Tokens

LOOPS = ("for", "while", "do")
_JUMPS = ("break", "continue", "return", "goto")
_WITH_HEADS = ("if", "for", "while", "switch")


class LoopBody(NamedTuple):
    """The body of the loop that begins with the token `word`.

    `opening` and `closing` are its braces. Without braces, they are the tokens before and after it.
    """

    word: int
    opening: int
    closing: int


def find_loop_bodies(tokens: Tokens) -> Iterator[LoopBody]:
    """Yield the bodies of all loops. The `while ();` at the end of `do {}` has none."""
    for word in LOOPS:
        for index in tokens.occurrences.get(word, ()):
            head = _skip_head(tokens, index)
            if tokens.at(head) == "{" and tokens.partner[head] > 0:
                yield LoopBody(index, head, tokens.partner[head])
            elif head < len(tokens) and tokens.text[head] != ";":
                yield LoopBody(index, head - 1, find_statement_end(tokens, head))


def find_unbraced_branches(tokens: Tokens, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the token ranges of expression statements that are branches of `if` without braces."""
    for word in ("if", "else"):
        places = tokens.occurrences.get(word, [])
        for index in places[bisect_left(places, first) : bisect_left(places, last)]:
            side = _skip_head(tokens, index)
            if tokens.at(side) not in ("{", ";", "do", *_WITH_HEADS, *_JUMPS):
                yield side, find_statement_end(tokens, side)


def find_statement_end(tokens: Tokens, index: int) -> int:
    """Return the index after the statement that begins with this token."""
    text = tokens.at(index)
    if text == "{":
        return max(tokens.partner[index], index) + 1
    if text in _WITH_HEADS:
        end = find_statement_end(tokens, _skip_head(tokens, index))
        if text == "if" and tokens.at(end) == "else":
            end = find_statement_end(tokens, end + 1)
        return end
    if text == "do":  # its `while` ends with a semicolon
        index = find_statement_end(tokens, index + 1)
    while index < len(tokens) and tokens.text[index] != ";":
        index = max(tokens.partner[index], index) + 1
    return min(index + 1, len(tokens))


def _skip_head(tokens: Tokens, index: int) -> int:
    """Return the index after `for (...)`, `if constexpr (...)` or `do`."""
    has_head = tokens.text[index] in _WITH_HEADS
    index += 2 if tokens.at(index + 1) == "constexpr" else 1
    if has_head and tokens.at(index) == "(":
        index = max(tokens.partner[index], index) + 1
    return index
