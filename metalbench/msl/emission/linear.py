"""Values that follow from the first lane's: computed once, with what is to be checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import literal
from metalbench.msl.emission.instructions import computed
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.lanewise import vectors
from metalbench.msl.emission.one_by_one import follows, of_lane
from metalbench.msl.ir.model import Compare, Instruction
from metalbench.msl.ir.types import Int
from metalbench.msl.vector.shapes import Affine


def linear(
    body: Body, instruction: Instruction, operands: Sequence[Lanes], uniformity: Affine
) -> Lanes:
    """On lane 0's values: the others' follow."""
    code, scalars, opcode = body.code, [each.scalar for each in operands], instruction.opcode
    if opcode == "select":
        condition, yes, no = scalars
        kind = instruction.type
        found = code.value(f"select i1 {condition}, {kind} {yes}, {kind} {no}")
    elif opcode == "or":  # of disjoint bits, in every lane but perhaps not in lane 0
        found = code.value(f"add {instruction.type} {scalars[0]}, {scalars[1]}")
    else:
        of = str(operands[0].type)
        found = code.value(computed(instruction, of, scalars, instruction.type, drop=True))
    result = Lanes(instruction.type, found, uniformity.stride)
    if uniformity.checked:
        result.holds = _holds(body, instruction, operands, uniformity.stride)
        result.later = partial(vectors, body, instruction, operands)
        if opcode != "select" and all(follows(each) for each in operands):
            result.one = partial(_of_lane, body, instruction, operands)
    return result


def _of_lane(body: Body, instruction: Instruction, operands: Sequence[Lanes], lane: str) -> str:
    """One lane's value, of the values that follow from others'."""
    given = [of_lane(body, each, [], lane) for each in operands]
    of = str(operands[0].type)
    return body.code.value(computed(instruction, of, given, instruction.type, drop=True))


def _holds(body: Body, instruction: Instruction, operands: Sequence[Lanes], stride: int) -> str:
    """Whether no lane's value wrapped on the way."""
    code = body.code
    given = [each.holds for each in operands if each.holds]
    if instruction.opcode in ("zext", "sext") and not given:
        return _stays(body, instruction, operands[0], stride)
    if not given:
        return "true"
    found = given[0]
    for each in given[1:]:
        found = code.value(f"and i1 {found}, {each}")
    return found


def _stays(body: Body, widening: Instruction, operand: Lanes, stride: int) -> str:
    """Whether lane 0's value and the last lane's lie on the same side of where numbers wrap."""
    type_ = operand.type
    assert isinstance(type_, Int)
    last = stride * (body.width - 1)
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
    return body.code.value(f"icmp {relation} {type_} {operand.scalar}, {literal(type_, limit)}")


def ends(body: Body, compare: Compare, operands: Sequence[Lanes]) -> tuple[str, str, str] | None:
    """The first and the last lane's answer where it can change once only, and whether it does.

    That takes all lanes, and values that do not wrap from the first to the last of them.
    """
    relation, kind = compare.predicate, operands[0].type
    follow = all(each.is_linear for each in operands)
    if body.mask or not body.launch.rows or relation[0] not in "us" or not follow:
        return None
    if compare.opcode != "icmp" or not isinstance(kind, Int):
        return None
    code, lasts = body.code, []
    holds = [each.holds for each in operands if each.holds]
    for each in operands:
        last = each.scalar
        if each.stride:
            distance = literal(kind, each.stride * (body.width - 1))
            last = code.value(f"add {kind} {each.scalar}, {distance}")
            grows = "ge" if each.stride > 0 else "le"
            if abs(each.stride) * body.width >= 1 << (kind.bits - 1):
                return None
            holds.append(code.value(f"icmp {relation[0]}{grows} {kind} {last}, {each.scalar}"))
        lasts.append(last)
    if not holds:
        return None
    whole = holds[0]
    for more in holds[1:]:
        whole = code.value(f"and i1 {whole}, {more}")
    first, last = (
        code.value(f"icmp {relation} {kind} {one}, {other}")
        for one, other in ([each.scalar for each in operands], lasts)
    )
    return first, last, whole
