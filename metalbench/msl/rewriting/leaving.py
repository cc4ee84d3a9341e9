"""Loops that lanes leave behind a function of their SIMD-group: `if (c) { simd_sum(x); break; }`.

What always leaves a loop is no part of it to LLVM, and the lanes of all its turns would meet there.
So the place where it is left is marked, for kernels that are built as vectors (ir/turns.py), and
so is where a turn of the loop begins, which is what the mark ends: after a loop that stands before
it LLVM may come straight from there. Of
`while (!done) { if (c) { simd_sum(x); done = true; } }` LLVM finds out that the branch leaves it,
and so it does of a loop within, behind the first of whose turns the outer one is left.

Nor may LLVM unroll such a loop, or one around it: the copies of its turns would leave it for one
block together.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from metalbench.msl.reading.collectives import References, is_collective
from metalbench.msl.reading.statements import (
    LoopBody,
    find_loop_bodies,
    find_statement_end,
    find_unbraced_branches,
)
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits

_TURN = "mb_turn"  # and the depth of a loop that is within another
NO_UNROLL_MACRO = "MB_LOOP_OF_TURNS"  # in front of a loop that must not be unrolled
_HINTED = "MB_LOOP_HINT"  # and in the place of what the source says of that
_HINT = re.compile(r"#[ \t]*pragma[ \t]+((?:(?:no)?unroll\b|clang[ \t]+loop\b)[^\n]*)")
_WAYS_OUT = ("break", "return")
_DECIDING = ("&&", "||", "!")
Reached = Callable[[str], set[str]]  # what code mentions that a name stands for


class _Marks(NamedTuple):
    """Of a loop: the statements that leave it, or may be found to, and the ends of blocks.

    Of blocks without braces and of loops within, `bare` are the first token and the one behind.
    """

    leaving: list[int]
    closing: list[int]
    bare: list[tuple[int, int]]


def mark_loop_exits(tokens: Tokens, references: References, edits: Edits) -> None:
    """Mark every `break` and `return` behind such a function in a block within a loop."""
    if not any(map(is_collective, tokens.occurrences)):
        return
    known: dict[str, set[str]] = {}

    def reached(word: str) -> set[str]:
        if word not in known:
            known[word] = references.find_reachable([word]) if word in references else {word}
        return known[word]

    loops = list(find_loop_bodies(tokens))
    marks = {loop: _marks_of(tokens, loop, loops, reached) for loop in loops}
    marked = [loop for loop, found in marks.items() if any(found)]
    turns = {loop: _turn_of(loop, loops) for loop in marked}
    for loop in marked:
        _begin(tokens, edits, loop, turns[loop])
    for loop in marked:
        ends = f"mb::turn_ends({turns[loop]}"
        for index in marks[loop].leaving:
            _mark(tokens, edits, index, ends)
        for index in marks[loop].closing:
            edits.insert(tokens.start[index], f"{ends}); ")
        for first, behind in marks[loop].bare:
            edits.insert(tokens.start[first], "{ ")
            edits.insert(tokens.end(behind - 1), f" {ends}); }}")
    for loop in loops:
        if any(loop.opening <= inner.opening < loop.closing for inner in marked):
            _keep_turns(tokens, edits, loop.word)


def _turn_of(loop: LoopBody, loops: list[LoopBody]) -> str:
    """A name that those of loops within do not hide: a `return` ends the turns of all."""
    depth = sum(each.opening < loop.word < each.closing for each in loops)
    return f"{_TURN}_{depth}" if depth else _TURN


def _marks_of(tokens: Tokens, loop: LoopBody, loops: list[LoopBody], reached: Reached) -> _Marks:
    def is_own(index: int) -> bool:
        return not any(loop.opening < each.opening < index < each.closing for each in loops)

    def needs_one(index: int) -> bool:
        ends = tokens.text[index] == "return" or is_own(index)
        return ends and _follows_a_meeting(tokens, loop, index, reached)

    decided = _is_decided(tokens, loop, is_own)
    words = (*_WAYS_OUT, "continue") if decided else _WAYS_OUT
    leaving = [
        index
        for index in _within(tokens, loop, words)
        if needs_one(index) and (decided or not _leaves_a_switch(tokens, loop, index))
    ]
    closing = [
        tokens.partner[block]
        for block in (_branches(tokens, loop) if decided else ())
        if needs_one(tokens.partner[block])
    ]
    bare = [
        (first, behind)
        for first, behind in (find_unbraced_branches(tokens, *loop[1:]) if decided else ())
        if is_own(first) and _meets(tokens, first, behind, reached)
    ]
    bare += [
        (each.word, find_statement_end(tokens, each.word))
        for each in (loops if decided else ())
        if loop.opening < each.word < loop.closing
        and is_own(each.word)
        and _meets(tokens, each.word, each.closing, reached)
    ]
    return _Marks(leaving, closing, bare)


def _is_decided(tokens: Tokens, loop: LoopBody, is_own: Callable[[int], bool]) -> bool:
    """Whether what is done in a turn may decide that it is the last, as LLVM would find out.

    A loop that only counts is not worth marks: these keep it from being unrolled.
    """
    if tokens.text[loop.word] != "for":
        return True
    header = tokens.text[loop.word + 1 : tokens.partner[loop.word + 1]]
    if any(each in header for each in _DECIDING):
        return True
    return any(
        tokens.text[index] == "return"
        or (is_own(index) and not _leaves_a_switch(tokens, loop, index))
        for index in _within(tokens, loop, _WAYS_OUT, alone=True)
    )


def _within(
    tokens: Tokens, loop: LoopBody, words: tuple[str, ...], *, alone: bool = False
) -> Iterator[int]:
    """The statements that these words begin within a body: of those without a block, `alone`."""
    for word in words:
        places = tokens.occurrences.get(word, [])
        first = bisect_left(places, loop.opening)
        for index in places[first : bisect_left(places, loop.closing)]:
            if (tokens.text[index - 1] in ("{", "}", ";")) or alone:
                yield index


def _branches(tokens: Tokens, loop: LoopBody) -> Iterator[int]:
    """The braces within a body that open a side of an `if`, and do not end by leaving it."""
    places = tokens.occurrences.get("{", [])
    last = bisect_left(places, loop.closing)
    for block in places[bisect_left(places, loop.opening + 1) : last]:
        statement = tokens.text[_last_statement(tokens, block)]
        sides = ("if", "else", "switch")
        if _opener(tokens, block) in sides and statement not in (*_WAYS_OUT, "continue"):
            yield block


def _last_statement(tokens: Tokens, block: int) -> int:
    """Where the last statement of a block begins, if that is an expression or a jump."""
    index = tokens.partner[block] - 1
    while index > block and tokens.text[index - 1] not in ("{", "}", ";"):
        index -= 1
        if tokens.text[index] in (")", "]"):
            index = tokens.partner[index]
    return index


def _follows_a_meeting(tokens: Tokens, loop: LoopBody, index: int, reached: Reached) -> bool:
    """Whether a call stands before, in the blocks of this loop's body around it.

    The body itself is such a block only for its own statements.
    """
    last = index
    if tokens.text[index] == "return":
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
    first = min(_around(tokens, loop, index), default=loop.opening)
    return _meets(tokens, first, last, reached)


def _meets(tokens: Tokens, first: int, last: int, reached: Reached) -> bool:
    names = {name for word in set(tokens.text[first:last]) for name in reached(word)}
    return any(map(is_collective, names))


def _leaves_a_switch(tokens: Tokens, loop: LoopBody, index: int) -> bool:
    openers = [_opener(tokens, each) for each in _around(tokens, loop, index)]
    return tokens.text[index] == "break" and "switch" in openers


def _around(tokens: Tokens, loop: LoopBody, index: int) -> Iterator[int]:
    """The braces that are open at a token, within those of a loop's body."""
    while index > loop.opening + 1:
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


def _begin(tokens: Tokens, edits: Edits, loop: LoopBody, turn: str) -> None:
    """Say where a loop's turns begin; one without braces gets them."""
    begins = f" const auto {turn} = mb::turn_begins();"
    if tokens.text[loop.opening] == "{":
        edits.insert(tokens.end(loop.opening), begins)
    else:
        edits.insert(tokens.start[loop.opening + 1], f"{{{begins} ")
        edits.insert(tokens.end(loop.closing - 1), " }")


def _mark(tokens: Tokens, edits: Edits, index: int, ends: str) -> None:
    if tokens.text[index] != "return" or tokens.at(index + 1) == ";":
        edits.insert(tokens.start[index], f"{ends}); ")
    elif tokens.at(index + 1) != "{":  # `{...}` has no type before it is returned
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
        edits.insert(tokens.start[index + 1], f"{ends}, ")
        edits.insert(tokens.start[last], ")")


def _keep_turns(tokens: Tokens, edits: Edits, word: int) -> None:
    """Let a loop be unrolled by nobody; elsewhere than in vectors, as the source says."""
    before = tokens.end(word - 1)
    hints = []
    for found in _HINT.finditer(tokens.source, before, tokens.start[word]):
        edits.blank(*found.span())
        text = found[1].strip().replace("\\", "\\\\").replace('"', '\\"')
        hints.append(f'{_HINTED}("{text}") ')
    edits.insert(tokens.start[word], f"{''.join(hints)}{NO_UNROLL_MACRO} ")
