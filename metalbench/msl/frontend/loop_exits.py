"""Find the bodies of loops and mark their exits, for the analysis of divergence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from metalbench.msl.frontend.declarations import is_attribute_start
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.source import References, is_collective
from metalbench.msl.frontend.tokens import Tokens, find_closing_angle, is_name
from metalbench.msl.frontend.unsupported import ATTRIBUTE_SPELLINGS

LOOPS = ("for", "while", "do")
_JUMPS = ("break", "continue", "return")
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


# Mark loop exits after a SIMD-group function: `if (c) { simd_sum(x); break; }`.
#
# A block that always exits a loop is outside of the loop for LLVM, so the lanes of all iterations
# would reconverge there (temporal divergence). For vector builds, this module marks each such exit
# with the iteration (analysis/control_flow.py). It also marks the begin of each iteration, which
# ends the previous mark: after a loop that precedes the exit, LLVM could branch from there
# directly.
#
# LLVM also finds exits that the source does not spell as such. In `while (!done) { if (c) {
# simd_sum(x); done = true; } }` it finds that the branch exits the loop. The same holds for an
# inner loop whose first iteration is followed by an exit of the outer loop.
#
# LLVM must not unroll such a loop, or a loop around it: the copies of the iterations would exit to
# one common block.

_ITERATION = "mb_turn"  # plus the nesting depth of an inner loop
NO_UNROLL_MACRO = "MB_LOOP_OF_TURNS"  # precedes a loop that must not be unrolled
_HINT_MACRO = "MB_LOOP_HINT"  # replaces the source's unroll pragma
_UNROLL_PRAGMA = re.compile(r"#[ \t]*pragma[ \t]+((?:(?:no)?unroll\b|clang[ \t]+loop\b)[^\n]*)")
_EXITS = ("break", "return")
_LOGICAL_OPERATORS = ("&&", "||", "!")
# Keywords that an expression may follow: `return [](float x) { ... };`.
_BEFORE_LAMBDA = frozenset({"return", "case", "else", "do", "and", "or", "not"})
ReachableFrom = Callable[[str], set[str]]  # the names that are reachable from a name


class _ExitMarks(NamedTuple):
    """The positions to mark in one loop: exits, and ends of blocks that LLVM may find to be exits.

    `bare` holds the first token and the end of blocks without braces, and of inner loops.
    """

    leaving: list[int]
    closing: list[int]
    bare: list[tuple[int, int]]


def mark_loop_exits(tokens: Tokens, references: References, edits: Edits) -> None:
    """Mark every `break` and `return` after a SIMD-group function in a block within a loop."""
    if not any(map(is_collective, tokens.occurrences)):
        return
    known: dict[str, set[str]] = {}

    def reachable_from(word: str) -> set[str]:
        if word not in known:
            known[word] = references.find_reachable([word]) if word in references else {word}
        return known[word]

    loops = list(find_loop_bodies(tokens))
    lambdas = list(_find_lambda_bodies(tokens))
    marks = {
        loop: _find_marks(
            tokens,
            loop,
            loops,
            [body for body in lambdas if loop.opening < body[0] < loop.closing],
            reachable_from,
        )
        for loop in loops
    }
    marked = [loop for loop, found in marks.items() if any(found)]
    turns = {loop: _name_iteration(loop, loops) for loop in marked}
    blocks: list[_Block] = []
    for loop in marked:
        begins = f" const auto {turns[loop]} = mb::turn_begins();"
        if tokens.text[loop.opening] == "{":
            edits.insert(tokens.end(loop.opening), begins)
        else:
            blocks.append(_Block(loop.opening + 1, loop.closing, begins, ""))
        ends = f" mb::turn_ends({turns[loop]});"
        blocks += [_Block(first, behind, "", ends) for first, behind in marks[loop].bare]
    _add_braces(tokens, edits, blocks)
    for loop in marked:
        ends = f"mb::turn_ends({turns[loop]}"
        for index in marks[loop].leaving:
            _mark_exit(tokens, edits, index, ends)
        for index in marks[loop].closing:
            edits.insert(tokens.start[index], f"{ends}); ")
    for loop in loops:
        if any(loop.opening <= inner.opening < loop.closing for inner in marked):
            _forbid_unrolling(tokens, edits, loop.word)


def _name_iteration(loop: LoopBody, loops: list[LoopBody]) -> str:
    """Return a variable name that inner loops do not hide, because `return` exits all loops."""
    depth = sum(each.opening < loop.word < each.closing for each in loops)
    return f"{_ITERATION}_{depth}" if depth else _ITERATION


def _find_marks(
    tokens: Tokens,
    loop: LoopBody,
    loops: list[LoopBody],
    lambdas: list[tuple[int, int]],
    reachable_from: ReachableFrom,
) -> _ExitMarks:
    """Return the positions to mark in a loop, whose body contains these bodies of lambdas."""

    def is_in_function(index: int) -> bool:
        return not any(opening < index < closing for opening, closing in lambdas)

    def is_own(index: int) -> bool:
        inner = any(loop.opening < each.opening < index < each.closing for each in loops)
        return not inner and is_in_function(index)

    def needs_one(index: int) -> bool:
        ends = tokens.text[index] == "return" or is_own(index)
        if not (ends and is_in_function(index)):
            return False
        return _follows_collective(tokens, loop, index, reachable_from)

    decided = _can_exit_by_data(tokens, loop, is_own, is_in_function)
    words = (*_EXITS, "continue") if decided else _EXITS
    leaving = [
        index
        for index in _find_statements(tokens, loop, words)
        if needs_one(index) and (decided or not _is_switch_break(tokens, loop, index))
    ]
    closing = [
        tokens.partner[block]
        for block in (_find_branches(tokens, loop) if decided else ())
        if needs_one(tokens.partner[block])
    ]
    bare = [
        (first, behind)
        for first, behind in (find_unbraced_branches(tokens, *loop[1:]) if decided else ())
        if is_own(first) and _has_collective(tokens, first, behind, reachable_from)
    ]
    bare += [
        (each.word, find_statement_end(tokens, each.word))
        for each in (loops if decided else ())
        if loop.opening < each.word < loop.closing
        and is_own(each.word)
        and _has_collective(tokens, each.word, each.closing, reachable_from)
    ]
    return _ExitMarks(leaving, closing, bare)


def _find_lambda_bodies(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the braces of the bodies of lambda expressions. Their jumps exit no loop around them.

    A lambda without captures cannot name a mark of the loop, either.
    """
    for index in tokens.occurrences.get("[", ()):
        before = tokens.text[index - 1] if index else ""
        operand = before in (")", "]", "[") or (is_name(before) and before not in _BEFORE_LAMBDA)
        if operand or is_attribute_start(tokens, index):
            continue
        at = tokens.partner[index] + 1
        if tokens.at(at) == "<":
            at = find_closing_angle(tokens, at, len(tokens)) + 1
        if tokens.at(at) == "(":
            at = tokens.partner[at] + 1
        # Specifiers and the type of the result.
        while tokens.at(at) not in ("{", ";", ")", "]", "}", ",", ""):
            at = max(tokens.partner[at], at) + 1
        if tokens.at(at) == "{":
            yield at, tokens.partner[at]


def _can_exit_by_data(
    tokens: Tokens,
    loop: LoopBody,
    is_own: Callable[[int], bool],
    is_in_function: Callable[[int], bool],
) -> bool:
    """Return whether an iteration can decide that it is the last one.

    A loop that only counts gets no marks, because marks prevent its unrolling.
    """
    if tokens.text[loop.word] != "for":
        return True
    header = tokens.text[loop.word + 1 : tokens.partner[loop.word + 1]]
    if any(each in header for each in _LOGICAL_OPERATORS):
        return True
    return any(
        (tokens.text[index] == "return" and is_in_function(index))
        or (is_own(index) and not _is_switch_break(tokens, loop, index))
        for index in _find_statements(tokens, loop, _EXITS, alone=True)
    )


def _find_statements(
    tokens: Tokens, loop: LoopBody, words: tuple[str, ...], *, alone: bool = False
) -> Iterator[int]:
    """Yield the statements in a body that begin with these words.

    With `alone`, statements that are unbraced branches are included.
    """
    for word in words:
        places = tokens.occurrences.get(word, [])
        first = bisect_left(places, loop.opening)
        for index in places[first : bisect_left(places, loop.closing)]:
            if (tokens.text[index - 1] in ("{", "}", ";")) or alone:
                yield index


def _find_branches(tokens: Tokens, loop: LoopBody) -> Iterator[int]:
    """Yield the opening braces of `if` branches in a body that do not end with an exit."""
    places = tokens.occurrences.get("{", [])
    last = bisect_left(places, loop.closing)
    for block in places[bisect_left(places, loop.opening + 1) : last]:
        statement = tokens.text[_find_last_statement(tokens, block)]
        sides = ("if", "else", "switch")
        if _find_block_keyword(tokens, block) in sides and statement not in (*_EXITS, "continue"):
            yield block


def _find_last_statement(tokens: Tokens, block: int) -> int:
    """Return the first token of a block's last statement, if that is an expression or a jump."""
    index = tokens.partner[block] - 1
    while index > block and tokens.text[index - 1] not in ("{", "}", ";"):
        index -= 1
        if tokens.text[index] in (")", "]"):
            index = tokens.partner[index]
    return index


def _follows_collective(
    tokens: Tokens, loop: LoopBody, index: int, reachable_from: ReachableFrom
) -> bool:
    """Return whether a collective call precedes in the blocks of the loop's body around a token.

    The body itself counts only for its direct statements.
    """
    last = index
    if tokens.text[index] == "return":
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
    first = min(_find_enclosing_braces(tokens, loop, index), default=loop.opening)
    return _has_collective(tokens, first, last, reachable_from)


def _has_collective(tokens: Tokens, first: int, last: int, reachable_from: ReachableFrom) -> bool:
    names = {name for word in set(tokens.text[first:last]) for name in reachable_from(word)}
    return any(map(is_collective, names))


def _is_switch_break(tokens: Tokens, loop: LoopBody, index: int) -> bool:
    openers = [
        _find_block_keyword(tokens, each) for each in _find_enclosing_braces(tokens, loop, index)
    ]
    return tokens.text[index] == "break" and "switch" in openers


def _find_enclosing_braces(tokens: Tokens, loop: LoopBody, index: int) -> Iterator[int]:
    """Yield the braces that are open at a token, within those of a loop's body."""
    while index > loop.opening + 1:
        index -= 1
        if tokens.text[index] in ("}", ")", "]"):
            index = tokens.partner[index]
        elif tokens.text[index] == "{":
            yield index


def _find_block_keyword(tokens: Tokens, opening: int) -> str:
    """Return the keyword that a block belongs to: `for`, `if`, `do`, `else`."""
    before = opening - 1
    if tokens.at(before) == ")" and tokens.partner[before] > 0:
        before = tokens.partner[before] - 1
    return tokens.at(before)


class _Block(NamedTuple):
    """Statements [first, behind) that get braces, with text after the first and before the last."""

    first: int
    behind: int
    begins: str
    ends: str


def _add_braces(tokens: Tokens, edits: Edits, blocks: list[_Block]) -> None:
    """Add the braces of blocks, the outer ones first.

    The opening brace follows the previous token: a pragma or attribute before a loop stays there.
    Of two blocks with the same statements, the body of a loop is the outer one.
    """
    blocks.sort(key=lambda block: (block.first, -block.behind, not block.begins))
    for block in blocks:
        before = block.first - 1
        while (
            tokens.text[before] == ")"
            and tokens.at(tokens.partner[before] - 1) in ATTRIBUTE_SPELLINGS
        ):
            before = tokens.partner[before] - 2
        edits.insert(tokens.end(before), f" {{{block.begins}")
    for block in reversed(blocks):
        edits.insert(tokens.end(block.behind - 1), f"{block.ends} }}")


def _mark_exit(tokens: Tokens, edits: Edits, index: int, ends: str) -> None:
    if tokens.text[index] != "return" or tokens.at(index + 1) == ";":
        edits.insert(tokens.start[index], f"{ends}); ")
    elif tokens.at(index + 1) != "{":  # a braced initialiser has no type
        last = next(at for at in range(index, len(tokens)) if tokens.text[at] == ";")
        edits.insert(tokens.start[index + 1], f"{ends}, ")
        edits.insert(tokens.start[last], ")")


def _forbid_unrolling(tokens: Tokens, edits: Edits, word: int) -> None:
    """Forbid unrolling of a loop in vector builds. Other builds follow the source's pragma."""
    before = tokens.end(word - 1)
    hints = []
    for found in _UNROLL_PRAGMA.finditer(tokens.source, before, tokens.start[word]):
        edits.blank(*found.span())
        text = found[1].strip().replace("\\", "\\\\").replace('"', '\\"')
        hints.append(f'{_HINT_MACRO}("{text}") ')
    edits.insert(tokens.start[word], f"{''.join(hints)}{NO_UNROLL_MACRO} ")
