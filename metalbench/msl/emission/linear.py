"""Affine values: computed once for lane 0, with run-time checks where they may wrap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.code import format_integer
from metalbench.msl.emission.instructions import format_computation
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.lanewise import emit_vectors
from metalbench.msl.emission.one_by_one import extract_lane, is_lane_computable
from metalbench.msl.ir.model import Compare, Instruction
from metalbench.msl.ir.types import Int
from metalbench.msl.vector.shapes import Affine


def emit_affine(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], uniformity: Affine
) -> LaneValue:
    """Emit an instruction on lane 0's operands. The other lanes follow by the stride."""
    ir, scalars, opcode = emitter.ir, [each.scalar for each in operands], instruction.opcode
    if opcode == "select":
        condition, yes, no = scalars
        kind = instruction.type
        found = ir.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}")
    elif opcode == "or":  # of disjoint bits, in every lane but perhaps not in lane 0
        found = ir.emit(f"add {instruction.type} {scalars[0]}, {scalars[1]}")
    else:
        of = str(operands[0].type)
        found = ir.emit(format_computation(instruction, of, scalars, instruction.type, drop=True))
    result = LaneValue(instruction.type, found, uniformity.stride)
    if uniformity.checked:
        result.condition = _emit_no_wrap(emitter, instruction, operands, uniformity.stride)
        result.make_vectors = partial(emit_vectors, emitter, instruction, operands)
        if opcode != "select" and all(is_lane_computable(each) for each in operands):
            result.make_lane = partial(_emit_for_lane, emitter, instruction, operands)
    return result


def _emit_for_lane(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], lane: str
) -> str:
    """Emit an instruction for one lane, from operands that can be computed for it."""
    given = [extract_lane(emitter, each, [], lane) for each in operands]
    of = str(operands[0].type)
    return emitter.ir.emit(format_computation(instruction, of, given, instruction.type, drop=True))


def _emit_no_wrap(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], stride: int
) -> str:
    """Return the condition that no lane's value has wrapped."""
    ir = emitter.ir
    given = [each.condition for each in operands if each.condition]
    if instruction.opcode in ("zext", "sext") and not given:
        return _emit_no_wrap_of_extension(emitter, instruction, operands[0], stride)
    if not given:
        return "true"
    found = given[0]
    for each in given[1:]:
        found = ir.emit(f"and i1 {found}, {each}")
    return found


def _emit_no_wrap_of_extension(
    emitter: Emitter, widening: Instruction, operand: LaneValue, stride: int
) -> str:
    """Return the condition that the values of lane 0 and the last lane do not wrap in between."""
    type_ = operand.type
    assert isinstance(type_, Int)
    last = stride * (emitter.width - 1)
    signed = widening.opcode == "sext"
    least, most = (
        (-(1 << type_.bits - 1), (1 << type_.bits - 1) - 1)
        if signed
        else (
            0,
            (1 << type_.bits) - 1,
        )
    )
    if abs(last) > most:
        return "false"
    limit = most - last if stride > 0 else least - last
    relation = ("s" if signed else "u") + ("le" if stride > 0 else "ge")
    return emitter.ir.emit(
        f"icmp {relation} {type_} {operand.scalar}, {format_integer(type_, limit)}"
    )


def emit_end_comparisons(
    emitter: Emitter, compare: Compare, operands: Sequence[LaneValue]
) -> tuple[str, str, str] | None:
    """Return a comparison in the first and last lane, and whether it changes at most once between.

    Return None unless all lanes are active and the operands are affine and do not wrap.
    """
    relation, kind = compare.predicate, operands[0].type
    follow = all(each.is_affine for each in operands)
    if emitter.mask or not emitter.launch.rows or relation[0] not in "us" or not follow:
        return None
    if compare.opcode != "icmp" or not isinstance(kind, Int):
        return None
    ir, lasts = emitter.ir, []
    conditions = [each.condition for each in operands if each.condition]
    for each in operands:
        last = each.scalar
        if each.stride:
            distance = format_integer(kind, each.stride * (emitter.width - 1))
            last = ir.emit(f"add {kind} {each.scalar}, {distance}")
            grows = "ge" if each.stride > 0 else "le"
            if abs(each.stride) * emitter.width >= 1 << (kind.bits - 1):
                return None
            conditions.append(ir.emit(f"icmp {relation[0]}{grows} {kind} {last}, {each.scalar}"))
        lasts.append(last)
    if not conditions:
        return None
    whole = conditions[0]
    for more in conditions[1:]:
        whole = ir.emit(f"and i1 {whole}, {more}")
    first, last = (
        ir.emit(f"icmp {relation} {kind} {one}, {other}")
        for one, other in ([each.scalar for each in operands], lasts)
    )
    return first, last, whole
