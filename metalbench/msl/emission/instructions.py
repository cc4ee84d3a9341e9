"""The text of instructions that compute, on operands of any length."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.ir.model import Compare, Instruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Type

BINARY = frozenset(
    {
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"),
        *("and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem"),
    }
)
CASTS = frozenset(
    {
        *("zext", "sext", "trunc", "bitcast", "fptoui", "fptosi", "uitofp", "sitofp"),
        *("fpext", "fptrunc", "ptrtoint", "inttoptr", "addrspacecast"),
    }
)
# What is promised of an integer holds for the lanes that are active. Lane 0 may not be.
_PROMISES = frozenset({"nuw", "nsw", "nneg", "disjoint", "exact", "samesign"})


def computed(
    instruction: Instruction, of: str, values: Sequence[str], to: Type | str, *, drop: bool = False
) -> str:
    """A unary, binary, comparing or casting instruction on values of one type."""
    opcode, flags = instruction.opcode, flags_of(instruction, drop=drop)
    if opcode in CASTS:
        return f"{opcode} {flags}{of} {values[0]} to {to}"
    if isinstance(instruction, Compare):
        return f"{opcode} {flags}{instruction.predicate} {of} {values[0]}, {values[1]}"
    if opcode in BINARY:
        return f"{opcode} {flags}{of} {values[0]}, {values[1]}"
    if opcode in ("fneg", "freeze"):
        return f"{opcode} {flags}{of} {values[0]}"
    raise IrError(f"{opcode} of lanes")


def flags_of(instruction: Instruction, *, drop: bool = False) -> str:
    """The flags of an instruction, each with a space behind it; `drop` those of some lanes only."""
    kept = (each for each in instruction.flags if not drop or each not in _PROMISES)
    return "".join(f"{each} " for each in kept)
