"""Divisors that do not trap."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import splat
from metalbench.msl.ir.model import Instruction
from metalbench.msl.ir.types import Int, Type

DIVISIONS = ("udiv", "sdiv", "urem", "srem")


def mask_divisors(
    emitter: Emitter, instruction: Instruction, lanes: str, values: Sequence[str], kind: Type
) -> str:
    """Return the divisors of all lanes, 1 for inactive lanes."""
    if instruction.operands[1].integer is not None:
        return values[1]
    divisor = values[1]
    if emitter.mask:
        one = splat(emitter.ir, kind, "1")
        divisor = emitter.ir.emit(
            f"select {emitter.ir.mask_type} {emitter.mask}, {lanes} {divisor}, {lanes} {one}"
        )
    return emit_safe_divisor(emitter, instruction, lanes, [values[0], divisor])


def emit_safe_divisor(
    emitter: Emitter, instruction: Instruction, type_: str, values: Sequence[str]
) -> str:
    """Return divisors with 1 where the quotient overflows: the least number divided by -1."""
    if instruction.opcode not in ("sdiv", "srem"):
        return values[1]
    ir = emitter.ir
    (kind, *_) = emitter.list_components(instruction.type)
    wide = type_.startswith("<") and isinstance(kind, Int)
    assert isinstance(kind, Int)

    def constant(number: int) -> str:
        return f"splat ({kind} {number})" if wide else str(number)

    truth = f"{type_.rpartition(' x ')[0]} x i1>" if wide else "i1"
    is_least = ir.emit(f"icmp eq {type_} {values[0]}, {constant(-(1 << kind.bits - 1))}")
    is_minus = ir.emit(f"icmp eq {type_} {values[1]}, {constant(-1)}")
    both = ir.emit(f"and {truth} {is_least}, {is_minus}")
    return ir.emit(f"select {truth} {both}, {type_} {constant(1)}, {type_} {values[1]}")
