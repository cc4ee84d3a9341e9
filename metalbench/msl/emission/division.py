"""Divisors that no processor faults at."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import splat
from metalbench.msl.ir.model import Instruction
from metalbench.msl.ir.types import Int, Type

DIVISIONS = ("udiv", "sdiv", "urem", "srem")


def divisors(
    body: Body, instruction: Instruction, lanes: str, values: Sequence[str], kind: Type
) -> str:
    """The divisors of all lanes: of lanes that are not active, 1."""
    if instruction.operands[1].integer is not None:
        return values[1]
    divisor = values[1]
    if body.mask:
        one = splat(body.code, kind, "1")
        divisor = body.code.value(
            f"select {body.code.mask} {body.mask}, {lanes} {divisor}, {lanes} {one}"
        )
    return safe_divisor(body, instruction, lanes, [values[0], divisor])


def safe_divisor(body: Body, instruction: Instruction, type_: str, values: Sequence[str]) -> str:
    """Another divisor where the quotient does not fit: of the least number by -1."""
    if instruction.opcode not in ("sdiv", "srem"):
        return values[1]
    code = body.code
    (kind, *_) = body.components(instruction.type)
    wide = type_.startswith("<") and isinstance(kind, Int)
    assert isinstance(kind, Int)

    def constant(number: int) -> str:
        return f"splat ({kind} {number})" if wide else str(number)

    truth = f"{type_.rpartition(' x ')[0]} x i1>" if wide else "i1"
    is_least = code.value(f"icmp eq {type_} {values[0]}, {constant(-(1 << kind.bits - 1))}")
    is_minus = code.value(f"icmp eq {type_} {values[1]}, {constant(-1)}")
    both = code.value(f"and {truth} {is_least}, {is_minus}")
    return code.value(f"select {truth} {both}, {type_} {constant(1)}, {type_} {values[1]}")
