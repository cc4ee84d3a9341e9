"""Which programs mean the same to the engine's ways and to the model."""

from __future__ import annotations

from collections.abc import Iterator

from generated import syntax as s
from generated.syntax import every

_MEETINGS = (s.Together, s.Fence)
_PARTINGS = (s.If, s.Switch, s.For, s.While, s.Choice, s.Logic)
_JUMPS = (s.Break, s.Continue, s.Return)


def _calls(node: s.Node, program: s.Program) -> Iterator[s.Node]:
    """A part, all inside of it, and all inside of the functions that it calls."""
    functions = {each.name: each for each in program.functions}
    for each in every(node):
        yield each
        if isinstance(each, s.UserCall):
            yield from _calls(functions[each.function], program)


def meets(node: s.Node, program: s.Program) -> bool:
    """Whether lanes of a SIMD-group meet within a part of a program."""
    return any(isinstance(each, _MEETINGS) for each in _calls(node, program))


def suits_fibers(program: s.Program) -> bool:
    """Whether lanes that part in loops never meet there.

    Fibers wait at the return address of a call. They cannot tell one turn of a loop from another,
    and let the first call in the code go first: lanes that pass by a call in a loop, or are in
    another turn, come to meet those that do not.
    """
    loops = [each for each in every(program) if isinstance(each, s.For | s.While)]
    return not any(_parts(each, program) and meets(each, program) for each in loops)


def _parts(loop: s.For | s.While, program: s.Program) -> bool:
    """Whether some lanes may pass by a meeting within a loop, or come to it again earlier."""
    inside = [part for each in loop.body for part in _calls(each, program)]
    if isinstance(loop, s.While):
        inside += _calls(loop.condition, program)
    ways = [each for each in inside if isinstance(each, _PARTINGS)]
    jumps = any(isinstance(each, _JUMPS) for each in inside)
    return jumps or any(meets(each, program) for each in ways)


def is_settled(program: s.Program) -> bool:
    """Whether every loop may come to a second turn: what all leave in the first, LLVM unrolls."""
    loops = [each for each in every(program) if isinstance(each, s.For | s.While)]
    return not any(isinstance(one, s.Break | s.Return) for each in loops for one in each.body)
