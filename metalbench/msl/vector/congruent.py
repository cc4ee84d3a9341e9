"""Value numbering: find values that are equal on all paths.

LLVM may compute an address again on each side of a branch. A phi of the two is one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    Call,
    Instruction,
    Memory,
    Phi,
    Terminator,
    Value,
)

_DETAILS = ("predicate", "element", "indices", "mask")


def number_values(flow: Flow) -> Mapping[str, str]:
    """Return for each value that has an equal one before it the name of the first of them.

    A phi is equal to its operands if these have one number. Each load, call, atomic and alloca
    has a number that no other value has.
    """
    names: dict[str, str] = {}
    computed: dict[tuple[Any, ...], str] = {}

    def name_of(value: Value) -> str:
        return names.get(value.text, value.text)

    for block in flow.order:
        for each in block.instructions:
            if isinstance(each, Phi):
                found = {name_of(value) for value in each.operands if not value.is_undefined}
                if len(found) == 1:
                    names[each.result] = found.pop()
            elif each.result and not isinstance(each, Alloca | Atomic | Call | Memory | Terminator):
                names[each.result] = computed.setdefault(
                    (*_make_key(each), *map(name_of, each.operands)), each.result
                )
    return names


def _make_key(instruction: Instruction) -> tuple[str, ...]:
    details = (str(getattr(instruction, each, "")) for each in _DETAILS)
    types = (str(each.type) for each in instruction.operands)
    # Each `freeze` of poison may give another value.
    own = instruction.result if instruction.opcode == "freeze" else ""
    return instruction.opcode, str(instruction.type), own, *details, *types
