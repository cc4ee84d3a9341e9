"""Shift amounts: modulo the width in Metal, poison from the width on in LLVM."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.ir.model import Instruction
from metalbench.msl.ir.types import Int

SHIFTS = ("shl", "lshr", "ashr")


def mask_shift_amount(
    emitter: Emitter, instruction: Instruction, type_: str, values: Sequence[str]
) -> str:
    """Return the amounts modulo the width; constants are in range already."""
    if instruction.operands[1].integer is not None:
        return values[1]
    (kind, *_) = emitter.list_components(instruction.type)
    assert isinstance(kind, Int)
    most = f"splat ({kind} {kind.bits - 1})" if type_.startswith("<") else str(kind.bits - 1)
    return emitter.ir.emit(f"and {type_} {values[1]}, {most}")
