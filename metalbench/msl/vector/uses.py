"""Who uses a value, and what it depends on."""

from __future__ import annotations

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Function, Phi, Value
from metalbench.msl.vector.analysis import Shapes
from metalbench.msl.vector.shapes import VARYING

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
