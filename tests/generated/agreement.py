"""Select the programs that mean the same in the engine's modes and in the model."""

from __future__ import annotations

from collections.abc import Iterator

from generated import syntax as s
from generated.syntax import every

_MEETINGS = (s.Together, s.Fence)


def _calls(node: s.Node, program: s.Program) -> Iterator[s.Node]:
    """A part, all inside of it, and all inside of the functions that it calls."""
    functions = {each.name: each for each in program.functions}
    for each in every(node):
        yield each
        if isinstance(each, s.UserCall):
            yield from _calls(functions[each.function], program)


def meets(node: s.Node, program: s.Program) -> bool:
    """Return whether lanes of a SIMD-group meet within a part of a program."""
    return any(isinstance(each, _MEETINGS) for each in _calls(node, program))


def suits_fibers(program: s.Program) -> bool:
    """Return whether lanes leave no loop with a meeting point in the middle of an iteration.

    To LLVM, code that always leaves a loop is outside of it: fibers that leave it in different
    turns meet before they have left it, if they meet on their way.
    """
    loops = [each for each in every(program) if isinstance(each, s.For | s.While)]
    return not any(_is_left(each, program) and meets(each, program) for each in loops)


def _is_left(loop: s.For | s.While, program: s.Program) -> bool:
    """Return whether some lanes may leave the loop by a jump."""
    inside = [part for each in loop.body for part in _calls(each, program)]
    return any(isinstance(each, s.Break | s.Return) for each in inside)


def is_settled(program: s.Program) -> bool:
    """Return whether every loop may reach a second iteration. LLVM unrolls the others."""
    loops = [each for each in every(program) if isinstance(each, s.For | s.While)]
    return not any(isinstance(one, s.Break | s.Return) for each in loops for one in each.body)
