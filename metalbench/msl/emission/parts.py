"""Parts of vectors and structs, and choices between them: mostly other names for what is there."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.instructions import flags_of
from metalbench.msl.emission.lanes import Lanes, splat
from metalbench.msl.ir.model import Instruction, Part, Shuffle
from metalbench.msl.ir.types import BOOL, Struct, Type


def select(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`select`: one condition for all, for each lane, or for each component."""
    condition, yes, no = operands
    flags = flags_of(instruction)
    one = condition.is_uniform and condition.type == BOOL
    conditions = [condition.scalar] if one else body.vectors(condition)
    truth = "i1" if one else body.code.mask
    found = []
    for at, kind in enumerate(body.components(instruction.type)):
        lanes = body.code.lanes(kind)
        which = conditions[at] if len(conditions) > 1 else conditions[0]
        values = f"{lanes} {body.vectors(yes)[at]}, {lanes} {body.vectors(no)[at]}"
        found.append(body.code.value(f"select {flags}{truth} {which}, {values}"))
    return tuple(found)


def extract(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`extractelement`; an index that is not known is looked for among all."""
    vectors, index = body.vectors(operands[0]), instruction.operands[1].integer
    if index is not None:
        return (vectors[index],)
    chosen = vectors[0]
    lanes = body.code.lanes(instruction.type)
    for at in range(1, len(vectors)):
        here = _is_index(body, operands[1], at)
        chosen = body.code.value(f"select {here}, {lanes} {vectors[at]}, {lanes} {chosen}")
    return (chosen,)


def insert(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`insertelement`."""
    vectors, new = list(body.vectors(operands[0])), body.vector(operands[1])
    index = instruction.operands[2].integer
    if index is not None:
        vectors[index] = new
        return tuple(vectors)
    lanes = body.code.lanes(operands[1].type)
    return tuple(
        body.code.value(f"select {_is_index(body, operands[2], at)}, {lanes} {new}, {lanes} {old}")
        for at, old in enumerate(vectors)
    )


def _is_index(body: Body, index: Lanes, at: int) -> str:
    """The condition, with its type, that an index is this one."""
    if index.is_uniform:
        return f"i1 {body.code.value(f'icmp eq {index.type} {index.scalar}, {at}')}"
    lanes = body.code.lanes(index.type)
    number = splat(body.code, index.type, str(at))
    return f"{body.code.mask} {body.code.value(f'icmp eq {lanes} {body.vector(index)}, {number}')}"


def shuffle(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`shufflevector`."""
    assert isinstance(instruction, Shuffle)
    vectors = [vector for each in operands for vector in body.vectors(each)]
    return tuple("poison" if at < 0 else vectors[at] for at in instruction.mask)


def take(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`extractvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _range_of(body, operands[0].type, instruction.indices)
    return body.vectors(operands[0])[begin:end]


def put(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """`insertvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _range_of(body, operands[0].type, instruction.indices)
    whole = list(body.vectors(operands[0]))
    whole[begin:end] = body.vectors(operands[1])
    return tuple(whole)


def _range_of(body: Body, type_: Type, indices: Sequence[int]) -> tuple[int, int]:
    """Where the components of a part begin and end among those of the whole."""
    first = 0
    for index in indices:
        resolved = body.layout.resolved(type_)
        before = range(index)
        if isinstance(resolved, Struct):
            first += sum(len(body.components(resolved.members[each])) for each in before)
        else:
            first += index * len(body.components(body.layout.member(resolved, 0)[1]))
        type_ = body.layout.member(resolved, index)[1]
    return first, first + len(body.components(type_))
