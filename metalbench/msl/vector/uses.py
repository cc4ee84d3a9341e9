"""Uses of values across blocks, dependence on loads, and dead values."""

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
from metalbench.msl.vector.analysis import UniformityInfo
from metalbench.msl.vector.private import ASSUME_LIKE
from metalbench.msl.vector.shapes import VARYING

_EFFECTS = (Alloca, Atomic, Call, Memory)
_LOADS = ("load", "atomicrmw", "cmpxchg", "call")


def find_cross_block_uses(function: Function, flow: Flow) -> dict[str, set[Block]]:
    """Return for each value the blocks that use it, other than the block that defines it.

    A phi uses an operand in the predecessor of that operand.
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


def find_load_dependent(flow: Flow, info: UniformityInfo) -> frozenset[str]:
    """Return the varying values that depend on loads, atomics or calls."""
    found: set[str] = set()
    varying = [
        each
        for block in flow.order
        for each in block.instructions
        if each.result and info.get(Value(each.type, each.result)) is VARYING
    ]
    before = -1
    while before != len(found):
        before = len(found)
        for each in varying:
            if each.opcode in _LOADS or any(value.text in found for value in each.operands):
                found.add(each.result)
    return frozenset(found)


def find_dead_values(function: Function) -> frozenset[str]:
    """Return the values without uses, except in annotations such as `llvm.assume`.

    Results of atomics are included, although the operations themselves have effects.
    """
    users: dict[str, int] = {}
    pure: dict[str, Instruction] = {}
    for _, each in function.instructions:
        is_silent = isinstance(each, Call) and each.name.startswith(ASSUME_LIKE)
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


def find_threadgroup_addresses(function: Function, arena: str) -> frozenset[str]:
    """Return the addresses that are known to be in the threadgroup memory that `arena` returns."""
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
