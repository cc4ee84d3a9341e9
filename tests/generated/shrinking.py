"""Small programs of large ones: parts are taken away while the program still goes wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields

from generated import syntax as s
from generated.agreement import is_settled

Fails = Callable[[s.Program], bool]
# Programs with less at one of their parts.
Smaller = Callable[[s.Program, int], Iterator[s.Program]]


def shrunk(program: s.Program, fails: Fails, most: int = 300) -> s.Program:
    """A program as small as greed makes it for which `fails` is still true.

    `most` bounds how many programs are tried.
    """
    left = [most]

    def is_worth(candidate: s.Program) -> bool:
        if left[0] <= 0 or not _is_whole(candidate):
            return False
        left[0] -= 1
        return fails(candidate)

    before = None
    while before != program:
        before = program
        for smaller in (_launches, _shorter_blocks, _opened, _simpler, _unused):
            program = _taken(program, smaller, is_worth)
    return program


def _taken(program: s.Program, smaller: Smaller, is_worth: Fails) -> s.Program:
    """Return the smallest program that one kind of reduction reaches, from part to part."""
    at = 0
    while at <= size(program):
        found = next((each for each in smaller(program, at) if is_worth(each)), None)
        if found is None:
            at += 1
        else:
            program = found
    return program


def size(program: s.Program) -> int:
    """Return the number of parts of a program."""
    return sum(1 for _ in s.every(program))


def _is_whole(program: s.Program) -> bool:
    """Return whether threadgroup arrays are written before they are read and meetings are clear."""
    for each in s.every(program):
        if isinstance(each, s.Exchange):
            first = each.writes[0] if each.writes else None
            if not isinstance(first, s.Assign) or not isinstance(first.target, s.OwnShared):
                return False
        if isinstance(each, s.Compare) and isinstance(each.left, s.Literal):
            return False
    return is_settled(program)


def _launches(program: s.Program, at: int) -> Iterator[s.Program]:
    if at:
        return
    for threads in ((32, 1, 1), program.threads):
        fits = all(a <= b for a, b in zip(threads, program.grid, strict=True))
        if program.grid != threads and fits:
            found = copy.deepcopy(program)
            found.threads = found.grid = threads
            yield found


def _blocks(node: s.Node) -> Iterator[s.Block]:
    """Every list of statements."""
    for each in s.every(node):
        for one in fields(each):
            value = getattr(each, one.name)
            if isinstance(value, list) and value and isinstance(value[0], s.Statement):
                yield value


def _shorter_blocks(program: s.Program, at: int) -> Iterator[s.Program]:
    length = len(next((block for k, block in enumerate(_blocks(program)) if k == at), []))
    step = length
    while step:
        for begin in range(0, length, step):
            found = copy.deepcopy(program)
            block = next(block for k, block in enumerate(_blocks(found)) if k == at)
            del block[begin : begin + step]
            yield found
        step //= 2


def _opened(program: s.Program, at: int) -> Iterator[s.Program]:
    """Return the program with a statement replaced by its body."""
    node = _nth(program, at)
    if not isinstance(node, s.If | s.For | s.While | s.Switch):
        return
    inner = [getattr(node, name) for name in ("yes", "no", "body") if hasattr(node, name)]
    if isinstance(node, s.Switch):
        inner = [case.body for case in node.cases]
    for which in range(len(inner)):
        found = copy.deepcopy(program)
        statement = _nth(found, at)
        parts = [getattr(statement, name, None) for name in ("yes", "no", "body")]
        bodies = [each for each in parts if each is not None]
        if isinstance(statement, s.Switch):
            bodies = [case.body for case in statement.cases]
        for block in _blocks(found):
            for place, each in enumerate(block):
                if each is statement:
                    block[place : place + 1] = bodies[which]
                    yield found
                    break


def _nth(program: s.Program, at: int) -> s.Node:
    return next((node for k, node in enumerate(s.every(program)) if k == at), program)


def _simpler(program: s.Program, at: int) -> Iterator[s.Program]:
    """With an expression's operand, or a number, in its place."""
    node = _nth(program, at)
    for one in fields(node):
        value = getattr(node, one.name)
        places = range(len(value)) if isinstance(value, list) else [None]
        for place in places:
            old = value if place is None else value[place]
            if not isinstance(old, s.Expression) or _is_target(node, one.name):
                continue
            for new in _instead(old):
                found = copy.deepcopy(program)
                there = _nth(found, at)
                if place is None:
                    setattr(there, one.name, copy.deepcopy(new))
                else:
                    getattr(there, one.name)[place] = copy.deepcopy(new)
                yield found


def _is_target(node: s.Node, name: str) -> bool:
    return isinstance(node, s.Assign) and name == "target"


def _instead(old: s.Expression) -> Iterator[s.Expression]:
    if isinstance(old, s.Literal):
        return
    if isinstance(old, s.Below):  # as an index it has bounds, which its operand has not
        yield s.Literal(old.type, min(1, old.size - 1))
        return
    if old.type in ("uint", "int", "float"):
        yield s.Literal(old.type, 1)
    for each in s.every(old):
        is_operand = each is not old and isinstance(each, s.Expression)
        if is_operand and each.type == old.type and each != s.Literal(old.type, 1):
            yield each


def _unused(program: s.Program, at: int) -> Iterator[s.Program]:
    """Without functions, structs and threadgroup arrays that nothing names."""
    if at:
        return
    called = {each.function for each in s.every(program) if isinstance(each, s.UserCall)}
    of_types = (s.DeclareArray, s.Taken)
    types = {each.type for each in s.every(program) if isinstance(each, of_types)}
    arrays = {getattr(each, "array", None) for each in s.every(program)}
    found = copy.deepcopy(program)
    found.functions = [each for each in found.functions if each.name in called]
    found.structs = [each for each in found.structs if each.name in types]
    found.shared = [each for each in found.shared if each.name in arrays]
    if size(found) < size(program):
        yield found
