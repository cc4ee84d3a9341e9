"""Shifts by any amount: Metal takes it modulo the width, LLVM only what is less."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.ir.model import Instruction
from metalbench.msl.ir.types import Int

SHIFTS = ("shl", "lshr", "ashr")


def amount(body: Body, instruction: Instruction, type_: str, values: Sequence[str]) -> str:
    """By how much operands of this type are shifted; constants are said to be less already."""
    if instruction.operands[1].integer is not None:
        return values[1]
    (kind, *_) = body.components(instruction.type)
    assert isinstance(kind, Int)
    most = f"splat ({kind} {kind.bits - 1})" if type_.startswith("<") else str(kind.bits - 1)
    return body.code.value(f"and {type_} {values[1]}, {most}")
