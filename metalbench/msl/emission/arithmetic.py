"""Instructions that compute: once where one value tells all lanes', else on vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.division import DIVISIONS, safe_divisor
from metalbench.msl.emission.instructions import computed, flags_of
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.lanewise import vectors as vectors_of
from metalbench.msl.emission.linear import ends, linear
from metalbench.msl.emission.shifts import SHIFTS, amount
from metalbench.msl.ir.model import Compare, Instruction, Part, Shuffle, Value
from metalbench.msl.vector.shapes import UNIFORM, Affine


def compute(body: Body, instruction: Instruction) -> Lanes:
    """The result of an instruction that reaches no memory. Raises IrError."""
    uniformity = body.analysis.uniformity.get(Value(instruction.type, instruction.result))
    operands = [body.get(each) for each in instruction.operands]
    if all(each.is_uniform for each in operands):
        return Lanes(instruction.type, _once(body, instruction, operands))
    if uniformity is UNIFORM:  # of what differs from lane to lane in the same way
        return linear(body, instruction, operands, Affine(0))
    if isinstance(uniformity, Affine):
        return linear(body, instruction, operands, uniformity)
    known = ends(body, instruction, operands) if isinstance(instruction, Compare) else None
    if known is not None:
        return Lanes(
            instruction.type, ends=known, later=partial(vectors_of, body, instruction, operands)
        )
    return Lanes(instruction.type, vectors=vectors_of(body, instruction, operands))


def _once(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> str:
    """On the one value that all lanes have."""
    scalars = [each.scalar for each in operands]
    opcode = instruction.opcode
    if opcode in DIVISIONS and instruction.operands[1].integer is None:
        scalars[1] = safe_divisor(body, instruction, str(instruction.type), scalars)
    if opcode in SHIFTS:
        scalars[1] = amount(body, instruction, str(instruction.type), scalars)
    typed = [f"{each.type} {scalar}" for each, scalar in zip(operands, scalars, strict=True)]
    if isinstance(instruction, Shuffle):
        mask = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in instruction.mask)
        return body.code.value(
            f"shufflevector {', '.join(typed)}, <{len(instruction.mask)} x i32> <{mask}>"
        )
    if isinstance(instruction, Part):
        places = "".join(f", {each}" for each in instruction.indices)
        return body.code.value(f"{opcode} {', '.join(typed)}{places}")
    if opcode in ("select", "extractelement", "insertelement"):
        return body.code.value(f"{opcode} {flags_of(instruction)}{', '.join(typed)}")
    return body.code.value(computed(instruction, str(operands[0].type), scalars, instruction.type))
