"""Elements of vectors and structs, and selects: mostly renaming of existing vectors."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.instructions import format_flags
from metalbench.msl.emission.lanes import LaneValue, splat
from metalbench.msl.ir.model import Instruction, Part, Shuffle
from metalbench.msl.ir.types import BOOL, Struct, Type


def emit_select(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit a `select` by one condition for all, for each lane, or for each component."""
    condition, yes, no = operands
    flags = format_flags(instruction)
    one = condition.is_uniform and condition.type == BOOL
    conditions = [condition.scalar] if one else emitter.get_vectors(condition)
    truth = "i1" if one else emitter.ir.mask_type
    found = []
    for at, kind in enumerate(emitter.list_components(instruction.type)):
        lanes = emitter.ir.vector_type(kind)
        which = conditions[at] if len(conditions) > 1 else conditions[0]
        values = f"{lanes} {emitter.get_vectors(yes)[at]}, {lanes} {emitter.get_vectors(no)[at]}"
        found.append(emitter.ir.emit(f"select {flags}{truth} {which}, {values}"))
    return tuple(found)


def emit_extractelement(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `extractelement`; a variable index is compared with every position."""
    vectors, index = emitter.get_vectors(operands[0]), instruction.operands[1].integer
    if index is not None:
        return (vectors[index],)
    chosen = vectors[0]
    lanes = emitter.ir.vector_type(instruction.type)
    for at in range(1, len(vectors)):
        here = _emit_index_test(emitter, operands[1], at)
        chosen = emitter.ir.emit(f"select {here}, {lanes} {vectors[at]}, {lanes} {chosen}")
    return (chosen,)


def emit_insertelement(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `insertelement`."""
    vectors, new = list(emitter.get_vectors(operands[0])), emitter.get_vector(operands[1])
    index = instruction.operands[2].integer
    if index is not None:
        vectors[index] = new
        return tuple(vectors)
    lanes = emitter.ir.vector_type(operands[1].type)
    return tuple(
        emitter.ir.emit(
            f"select {_emit_index_test(emitter, operands[2], at)}, {lanes} {new}, {lanes} {old}"
        )
        for at, old in enumerate(vectors)
    )


def _emit_index_test(emitter: Emitter, index: LaneValue, at: int) -> str:
    """Return the typed condition that an index equals a position."""
    if index.is_uniform:
        return f"i1 {emitter.ir.emit(f'icmp eq {index.type} {index.scalar}, {at}')}"
    lanes = emitter.ir.vector_type(index.type)
    number = splat(emitter.ir, index.type, str(at))
    is_equal = emitter.ir.emit(f"icmp eq {lanes} {emitter.get_vector(index)}, {number}")
    return f"{emitter.ir.mask_type} {is_equal}"


def emit_shufflevector(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit a `shufflevector`."""
    assert isinstance(instruction, Shuffle)
    vectors = [vector for each in operands for vector in emitter.get_vectors(each)]
    return tuple("poison" if at < 0 else vectors[at] for at in instruction.mask)


def emit_extractvalue(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `extractvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _find_component_range(emitter, operands[0].type, instruction.indices)
    return emitter.get_vectors(operands[0])[begin:end]


def emit_insertvalue(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `insertvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _find_component_range(emitter, operands[0].type, instruction.indices)
    whole = list(emitter.get_vectors(operands[0]))
    whole[begin:end] = emitter.get_vectors(operands[1])
    return tuple(whole)


def _find_component_range(emitter: Emitter, type_: Type, indices: Sequence[int]) -> tuple[int, int]:
    """Return begin and end of a member's components among those of the aggregate."""
    first = 0
    for index in indices:
        resolved = emitter.layout.resolved(type_)
        before = range(index)
        if isinstance(resolved, Struct):
            first += sum(len(emitter.list_components(resolved.members[each])) for each in before)
        else:
            first += index * len(emitter.list_components(emitter.layout.member(resolved, 0)[1]))
        type_ = emitter.layout.member(resolved, index)[1]
    return first, first + len(emitter.list_components(type_))
