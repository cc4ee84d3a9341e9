"""Who uses a value, and what it depends on."""

from __future__ import annotations

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.vector.analysis import Shapes
from metalbench.msl.vector.private import SILENT
from metalbench.msl.vector.shapes import VARYING

_EFFECTS = (Alloca, Atomic, Call, Memory)
_LOADS = ("load", "atomicrmw", "cmpxchg", "call")


def used_elsewhere(function: Function, flow: Flow) -> dict[str, set[Block]]:
    """Which blocks use a value that another one defines.

    A phi uses it where its edge comes from.
    """
    defined = {each.result: block for block, each in function.instructions if each.result}
    uses: dict[str, set[Block]] = {}
    for block in flow.order:
        for each in block.instructions:
            sources = each.sources if isinstance(each, Phi) else ()
            for at, operand in enumerate(each.operands):
                user = function.blocks[sources[at]] if sources else block
                if defined.get(operand.text, user) is not user:
                    uses.setdefault(operand.text, set()).add(user)
    return uses


def loaded(flow: Flow, shapes: Shapes) -> frozenset[str]:
    """The values that depend on what different lanes have loaded."""
    found: set[str] = set()
    varying = [
        each
        for block in flow.order
        for each in block.instructions
        if each.result and shapes.of(Value(each.type, each.result)) is VARYING
    ]
    before = -1
    while before != len(found):
        before = len(found)
        for each in varying:
            if each.opcode in _LOADS or any(value.text in found for value in each.operands):
                found.add(each.result)
    return frozenset(found)


def idle(function: Function) -> frozenset[str]:
    """The values that nothing comes of: what is only said of them is of no use any more.

    Those that atomics found are among them, whatever else these do.
    """
    users: dict[str, int] = {}
    pure: dict[str, Instruction] = {}
    for _, each in function.instructions:
        is_silent = isinstance(each, Call) and each.name.startswith(SILENT)
        for operand in () if is_silent else each.operands:
            users[operand.text] = users.get(operand.text, 0) + 1
        if each.result and not isinstance(each, _EFFECTS):
            pure[each.result] = each
    found: set[str] = set()
    work = [name for name in pure if not users.get(name)]
    atomics = [each.result for _, each in function.instructions if isinstance(each, Atomic)]
    found.update(name for name in atomics if name and not users.get(name))
    while work:
        name = work.pop()
        found.add(name)
        for operand in pure[name].operands:
            users[operand.text] -= 1
            if not users[operand.text] and operand.text in pure and operand.text not in found:
                work.append(operand.text)
    return frozenset(found)


def in_threadgroup(function: Function, arena: str) -> frozenset[str]:
    """The addresses that are surely in threadgroup memory, which the function `arena` gives."""
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for _, each in function.instructions:
            is_whole = isinstance(each, Call) and each.name == arena
            is_part = isinstance(each, ElementPointer) and each.operands[0].text in found
            if is_whole or is_part:
                found.add(each.result)
    return frozenset(found)
