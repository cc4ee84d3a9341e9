"""Integer instructions on constants that are known lane by lane."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from metalbench.msl.ir.model import Compare, Instruction
from metalbench.msl.ir.types import Int, Type

Lanes = tuple[int, ...]

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


def unsigned(value: int, bits: int) -> int:
    """A number's bits, as a number of 0 or more."""
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    """A number's bits, as a number with a sign."""
    value = unsigned(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def fold(instruction: Instruction, operands: Sequence[Lanes]) -> Lanes | None:
    """What comes out, lane by lane, of unsigned `operands`; None where that is not known here."""
    first = instruction.operands[0].type
    if isinstance(instruction, Compare) and isinstance(first, Int):
        return _compared(instruction.predicate, first.bits, operands)
    if not isinstance(instruction.type, Int):
        return None
    bits = instruction.type.bits
    lanes = [
        _one_lane(instruction.opcode, each, bits, first) for each in zip(*operands, strict=True)
    ]
    known = tuple(each for each in lanes if each is not None)
    return known if len(known) == len(lanes) else None


def _one_lane(opcode: str, given: tuple[int, ...], bits: int, first: Type) -> int | None:
    if opcode in _ARITHMETIC:
        return unsigned(_ARITHMETIC[opcode](*given), bits)
    if opcode in ("shl", "lshr", "udiv", "urem"):
        return _guarded(opcode, *given, bits=bits)
    if opcode == "select":
        return given[1] if given[0] else given[2]
    if opcode == "sext" and isinstance(first, Int):
        return unsigned(signed(given[0], first.bits), bits)
    return unsigned(given[0], bits) if opcode in ("zext", "trunc", "freeze") else None


def _guarded(opcode: str, one: int, other: int, *, bits: int) -> int:
    """Lanes that are not active may hold what is undefined for others."""
    if opcode in ("shl", "lshr"):
        other %= bits
        return unsigned(one << other, bits) if opcode == "shl" else one >> other
    if other == 0:
        return 0
    return one // other if opcode == "udiv" else one % other


def _compared(predicate: str, bits: int, operands: Sequence[Lanes]) -> Lanes:
    relation = _RELATIONS[predicate if predicate in _RELATIONS else predicate[1:]]
    read = signed if predicate.startswith("s") else unsigned
    return tuple(
        int(relation(read(one, bits), read(other, bits)))
        for one, other in zip(*operands, strict=True)
    )
