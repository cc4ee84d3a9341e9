"""Computations: one scalar instruction for uniform or affine results, otherwise vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.division import DIVISIONS, emit_safe_divisor
from metalbench.msl.emission.instructions import format_computation, format_flags
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.lanewise import emit_vectors
from metalbench.msl.emission.linear import emit_affine, emit_end_comparisons
from metalbench.msl.emission.shifts import SHIFTS, mask_shift_amount
from metalbench.msl.ir.model import Compare, Instruction, Part, Shuffle, Value
from metalbench.msl.vector.shapes import UNIFORM, Affine


def emit_computation(emitter: Emitter, instruction: Instruction) -> LaneValue:
    """Emit an instruction that does not access memory, and return its result. Raise IrError."""
    uniformity = emitter.analysis.uniformity.get(Value(instruction.type, instruction.result))
    operands = [emitter.get(each) for each in instruction.operands]
    if all(each.is_uniform for each in operands):
        return LaneValue(instruction.type, _emit_uniform(emitter, instruction, operands))
    if uniformity is UNIFORM:  # the operands' strides add up to 0
        return emit_affine(emitter, instruction, operands, Affine(0))
    if isinstance(uniformity, Affine):
        return emit_affine(emitter, instruction, operands, uniformity)
    known = (
        emit_end_comparisons(emitter, instruction, operands)
        if isinstance(instruction, Compare)
        else None
    )
    if known is not None:
        return LaneValue(
            instruction.type,
            ends=known,
            make_vectors=partial(emit_vectors, emitter, instruction, operands),
        )
    return LaneValue(instruction.type, vectors=emit_vectors(emitter, instruction, operands))


def _emit_uniform(emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]) -> str:
    """Emit an instruction on uniform operands once, and return the scalar."""
    scalars = [each.scalar for each in operands]
    opcode = instruction.opcode
    if opcode in DIVISIONS and instruction.operands[1].integer is None:
        scalars[1] = emit_safe_divisor(emitter, instruction, str(instruction.type), scalars)
    if opcode in SHIFTS:
        scalars[1] = mask_shift_amount(emitter, instruction, str(instruction.type), scalars)
    typed = [f"{each.type} {scalar}" for each, scalar in zip(operands, scalars, strict=True)]
    if isinstance(instruction, Shuffle):
        mask = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in instruction.mask)
        return emitter.ir.emit(
            f"shufflevector {', '.join(typed)}, <{len(instruction.mask)} x i32> <{mask}>"
        )
    if isinstance(instruction, Part):
        places = "".join(f", {each}" for each in instruction.indices)
        return emitter.ir.emit(f"{opcode} {', '.join(typed)}{places}")
    if opcode in ("select", "extractelement", "insertelement"):
        return emitter.ir.emit(f"{opcode} {format_flags(instruction)}{', '.join(typed)}")
    return emitter.ir.emit(
        format_computation(instruction, str(operands[0].type), scalars, instruction.type)
    )
