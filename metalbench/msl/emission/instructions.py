"""Text of computing instructions, on scalars or vectors."""

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
# Poison-generating flags of integers. They hold for active lanes, and lane 0 may be inactive.
_POISON_FLAGS = frozenset({"nuw", "nsw", "nneg", "disjoint", "exact", "samesign"})


def format_computation(
    instruction: Instruction, of: str, values: Sequence[str], to: Type | str, *, drop: bool = False
) -> str:
    """Return a unary, binary, comparing or casting instruction on operands of one type."""
    opcode, flags = instruction.opcode, format_flags(instruction, drop=drop)
    if opcode in CASTS:
        return f"{opcode} {flags}{of} {values[0]} to {to}"
    if isinstance(instruction, Compare):
        return f"{opcode} {flags}{instruction.predicate} {of} {values[0]}, {values[1]}"
    if opcode in BINARY:
        return f"{opcode} {flags}{of} {values[0]}, {values[1]}"
    if opcode in ("fneg", "freeze"):
        return f"{opcode} {flags}{of} {values[0]}"
    raise IrError(f"cannot vectorize the instruction {opcode}")


def format_flags(instruction: Instruction, *, drop: bool = False) -> str:
    """Return an instruction's flags, each with a space after it; `drop` poison-generating ones."""
    kept = (each for each in instruction.flags if not drop or each not in _POISON_FLAGS)
    return "".join(f"{each} " for each in kept)
