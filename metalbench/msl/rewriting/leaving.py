"""Loops that lanes leave behind a function of their SIMD-group: `if (c) { simd_sum(x); break; }`.

What always leaves a loop is no part of it to LLVM, and the lanes of all its turns would meet there.
So the place where it is left is marked, for kernels that are built as vectors (ir/turns.py), and
so is where a turn of the loop begins, which is what the mark ends: after a loop that stands before
it LLVM may come straight from there. Of
`while (!done) { if (c) { simd_sum(x); done = true; } }` LLVM finds out that the branch leaves it.

Nor may LLVM unroll such a loop, or one around it: the copies of its turns would leave it for one
block together.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from metalbench.msl.reading.collectives import References, is_collective
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits

_TURN = "mb_turn"  # in scope for the marks of a loop, and hidden by those of loops within
_BEGINS = f" const auto {_TURN} = mb::turn_begins();"
_MARK = f"mb::turn_ends({_TURN}"
_TURNS = "MB_LOOP_OF_TURNS "  # in front of a loop that must not be unrolled
_HINTED = "MB_LOOP_HINT"  # and in the place of what the source says of that
_HINT = re.compile(r"#[ \t]*pragma[ \t]+((?:(?:no)?unroll\b|clang[ \t]+loop\b)[^\n]*)")
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
    loops = dict(_bodies(tokens, _LOOPS))
    for opening in loops:
        for index in _within(tokens, opening):
            if _follows_a_meeting(tokens, opening, index, reached):
                _mark(tokens, edits, index)
                marked.add(opening)
    for opening, _ in _bodies(tokens, _UNCOUNTED):
        for block in _branches(tokens, opening):
            closing = tokens.partner[block]
            if _follows_a_meeting(tokens, opening, closing, reached):
                edits.insert(tokens.start[closing], f"{_MARK}); ")
                marked.add(opening)
    for opening in marked:
        edits.insert(tokens.end(opening), _BEGINS)
    for opening, word in loops.items():
        closing = tokens.partner[opening]
        if any(opening <= inner <= closing for inner in marked):
            _keep_turns(tokens, edits, word)


def _bodies(tokens: Tokens, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The braces that open the bodies of loops, and the words that these begin with."""
    for word in words:
        for index in tokens.places.get(word, ()):
            opening = index + 1
            if tokens.at(opening) == "(" and tokens.partner[opening] > 0:
                opening = tokens.partner[opening] + 1
            if tokens.at(opening) == "{" and tokens.partner[opening] > 0:
                yield opening, index


def _keep_turns(tokens: Tokens, edits: Edits, word: int) -> None:
    """Let a loop be unrolled by nobody; elsewhere than in vectors, as the source says."""
    before = tokens.end(word - 1)
    hints = []
    for found in _HINT.finditer(tokens.source, before, tokens.start[word]):
        edits.blank(*found.span())
        text = found[1].strip().replace("\\", "\\\\").replace('"', '\\"')
        hints.append(f'{_HINTED}("{text}") ')
    edits.insert(tokens.start[word], f"{''.join(hints)}{_TURNS}")


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
