"""Values that are the same, whichever way a lane comes: computed alike of the same, in two places.

LLVM computes an address anew on each side of a branch where it can. What comes together behind it
is one value all the same.
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


def same_values(flow: Flow) -> Mapping[str, str]:
    """For every value, the first one that is the same."""
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
                    (*_what(each), *map(name_of, each.operands)), each.result
                )
    return names


def _what(instruction: Instruction) -> tuple[str, ...]:
    details = (str(getattr(instruction, each, "")) for each in _DETAILS)
    types = (str(each.type) for each in instruction.operands)
    # What `freeze` makes of a value that may be any is another one each time.
    own = instruction.result if instruction.opcode == "freeze" else ""
    return instruction.opcode, str(instruction.type), own, *details, *types
