"""Constant folding of integer instructions whose operands are constants in each lane."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from metalbench.msl.ir.model import Compare, Instruction
from metalbench.msl.ir.types import Int, Type

LaneConstants = tuple[int, ...]

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def to_unsigned(value: int, bits: int) -> int:
    """Return the low bits of a number as an unsigned number."""
    return value & ((1 << bits) - 1)


def to_signed(value: int, bits: int) -> int:
    """Return the low bits of a number as a signed number (two's complement)."""
    value = to_unsigned(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def fold_constants(
    instruction: Instruction, operands: Sequence[LaneConstants]
) -> LaneConstants | None:
    """Return the unsigned result of each lane from unsigned `operands`; None if it is unknown."""
    first = instruction.operands[0].type
    if isinstance(instruction, Compare) and isinstance(first, Int):
        return _fold_compare(instruction.predicate, first.bits, operands)
    if not isinstance(instruction.type, Int):
        return None
    bits = instruction.type.bits
    lanes = [
        _fold_lane(instruction.opcode, each, bits, first) for each in zip(*operands, strict=True)
    ]
    known = tuple(each for each in lanes if each is not None)
    return known if len(known) == len(lanes) else None


def _fold_lane(opcode: str, given: tuple[int, ...], bits: int, first: Type) -> int | None:
    if opcode in _ARITHMETIC:
        return to_unsigned(_ARITHMETIC[opcode](*given), bits)
    if opcode in ("shl", "lshr", "udiv", "urem"):
        return _fold_shift_or_division(opcode, *given, bits=bits)
    if opcode == "select":
        return given[1] if given[0] else given[2]
    if opcode == "sext" and isinstance(first, Int):
        return to_unsigned(to_signed(given[0], first.bits), bits)
    return to_unsigned(given[0], bits) if opcode in ("zext", "trunc", "freeze") else None


def _fold_shift_or_division(opcode: str, one: int, other: int, *, bits: int) -> int:
    """Return a result for any operands: those of inactive lanes may be out of range."""
    if opcode in ("shl", "lshr"):
        other %= bits
        return to_unsigned(one << other, bits) if opcode == "shl" else one >> other
    if other == 0:
        return 0
    return one // other if opcode == "udiv" else one % other


def _fold_compare(predicate: str, bits: int, operands: Sequence[LaneConstants]) -> LaneConstants:
    relation = _RELATIONS[predicate if predicate in _RELATIONS else predicate[1:]]
    read = to_signed if predicate.startswith("s") else to_unsigned
    return tuple(
        int(relation(read(one, bits), read(other, bits)))
        for one, other in zip(*operands, strict=True)
    )
