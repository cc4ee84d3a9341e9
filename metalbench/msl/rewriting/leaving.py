"""Loops that lanes leave behind a function of their SIMD-group: `if (c) { simd_sum(x); break; }`.

What always leaves a loop is no part of it to LLVM, and the lanes of all its turns would meet there.
So the place where it is left is marked, for kernels that are built as vectors (ir/turns.py), and
so is where a turn of the loop begins, which is what the mark ends: after a loop that stands before
it LLVM may come straight from there. Of
`while (!done) { if (c) { simd_sum(x); done = true; } }` LLVM finds out that the branch leaves it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from metalbench.msl.reading.collectives import References, is_collective
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits

_TURN = "mb_turn"  # in scope for the marks of a loop, and hidden by those of loops within
_BEGINS = f" const auto {_TURN} = mb::turn_begins();"
_MARK = f"mb::turn_ends({_TURN}"
_LOOPS = ("for", "while", "do")
_UNCOUNTED = ("while", "do")
_WAYS_OUT = ("break", "return")
Reached = Callable[[str], set[str]]  # what code mentions that a name stands for


def mark_leaving(tokens: Tokens, references: References, edits: Edits) -> None:
    """Mark every `break` and `return` behind such a function in a block within a loop."""
    if not any(map(is_collective, tokens.places)):
        return
    known: dict[str, set[str]] = {}

    def reached(word: str) -> set[str]:
        if word not in known:
            known[word] = references.reached([word]) if word in references else {word}
        return known[word]

    marked: set[int] = set()
    for opening in _bodies(tokens, _LOOPS):
        for index in _within(tokens, opening):
            if _follows_a_meeting(tokens, opening, index, reached):
                _mark(tokens, edits, index)
                marked.add(opening)
    for opening in _bodies(tokens, _UNCOUNTED):
        for block in _branches(tokens, opening):
            closing = tokens.partner[block]
            if _follows_a_meeting(tokens, opening, closing, reached):
                edits.insert(tokens.start[closing], f"{_MARK}); ")
                marked.add(opening)
    for opening in marked:
        edits.insert(tokens.end(opening), _BEGINS)


def _bodies(tokens: Tokens, words: Iterable[str]) -> Iterator[int]:
    """The braces that open the bodies of loops."""
    for word in words:
        for index in tokens.places.get(word, ()):
            opening = index + 1
            if tokens.at(opening) == "(" and tokens.partner[opening] > 0:
                opening = tokens.partner[opening] + 1
            if tokens.at(opening) == "{" and tokens.partner[opening] > 0:
                yield opening


def _within(tokens: Tokens, opening: int) -> Iterator[int]:
    """The statements that leave a function or loop within a body, but for those without a block."""
    for word in _WAYS_OUT:
        places = tokens.places.get(word, [])
        first = bisect_left(places, opening)
        for index in places[first : bisect_left(places, tokens.partner[opening])]:
            if tokens.text[index - 1] in ("{", "}", ";"):
                yield index


def _branches(tokens: Tokens, opening: int) -> Iterator[int]:
    """The braces within a body that open a side of an `if`, and do not end by leaving it."""
    places = tokens.places.get("{", [])
    last = bisect_left(places, tokens.partner[opening])
    for block in places[bisect_left(places, opening) : last]:
        statement = tokens.text[max(block, tokens.partner[block] - 2)]
        if _opener(tokens, block) in ("if", "else") and statement not in (*_WAYS_OUT, "continue"):
            yield block


def _follows_a_meeting(tokens: Tokens, opening: int, index: int, reached: Reached) -> bool:
    """Whether a call in the blocks around it stands before, and this loop is the one that it is in.

    The loop's own body is such a block only for its own statements.
    """
    blocks = list(_around(tokens, opening, index))
    openers = [_opener(tokens, each) for each in blocks]
    if any(each in _LOOPS for each in openers):
        return False
    if "switch" in openers and tokens.text[index] == "break":
        return False
    last = index
    if tokens.text[index] == "return":
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
    words = set(tokens.text[min(blocks, default=opening) : last])
    names = {name for word in words for name in reached(word)}
    return any(map(is_collective, names))


def _around(tokens: Tokens, opening: int, index: int) -> Iterator[int]:
    """The braces that are open at a token, within those of a loop's body."""
    while index > opening + 1:
        index -= 1
        if tokens.text[index] in ("}", ")", "]"):
            index = tokens.partner[index]
        elif tokens.text[index] == "{":
            yield index


def _opener(tokens: Tokens, opening: int) -> str:
    """The word that a block belongs to: `for`, `if`, `do`, `else`."""
    before = opening - 1
    if tokens.at(before) == ")" and tokens.partner[before] > 0:
        before = tokens.partner[before] - 1
    return tokens.at(before)


def _mark(tokens: Tokens, edits: Edits, index: int) -> None:
    if tokens.text[index] == "break" or tokens.at(index + 1) == ";":
        edits.insert(tokens.start[index], f"{_MARK}); ")
    elif tokens.at(index + 1) != "{":  # `{...}` has no type before it is returned
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
        edits.insert(tokens.start[index + 1], f"{_MARK}, ")
        edits.insert(tokens.start[last], ")")
