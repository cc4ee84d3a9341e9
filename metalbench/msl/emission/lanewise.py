"""Instructions on vectors of all lanes, one for each component."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.division import DIVISIONS, mask_divisors
from metalbench.msl.emission.instructions import format_computation
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.parts import (
    emit_extractelement,
    emit_extractvalue,
    emit_insertelement,
    emit_insertvalue,
    emit_select,
    emit_shufflevector,
)
from metalbench.msl.emission.recast import emit_bitcast
from metalbench.msl.emission.shifts import SHIFTS, mask_shift_amount
from metalbench.msl.ir.model import Instruction

_ELEMENT_WRITERS: dict[
    str, Callable[[Emitter, Instruction, Sequence[LaneValue]], tuple[str, ...]]
] = {
    "select": emit_select,
    "extractelement": emit_extractelement,
    "insertelement": emit_insertelement,
    "shufflevector": emit_shufflevector,
    "extractvalue": emit_extractvalue,
    "insertvalue": emit_insertvalue,
}


def emit_vectors(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an instruction for each component of its result, in all lanes. Raise IrError."""
    if instruction.opcode in _ELEMENT_WRITERS:
        return _ELEMENT_WRITERS[instruction.opcode](emitter, instruction, operands)
    given = [emitter.get_vectors(each) for each in operands]
    of = emitter.list_components(operands[0].type)
    to = emitter.list_components(instruction.type)
    if instruction.opcode == "bitcast" and len(of) != len(to):
        return emit_bitcast(emitter, of[0], to, given[0])
    found = []
    for at, kind in enumerate(of):
        lanes, values = emitter.ir.vector_type(kind), [each[at] for each in given]
        if instruction.opcode in DIVISIONS:
            values[1] = mask_divisors(emitter, instruction, lanes, values, kind)
        if instruction.opcode in SHIFTS:
            values[1] = mask_shift_amount(emitter, instruction, lanes, values)
        to_lanes = emitter.ir.vector_type(to[at])
        found.append(emitter.ir.emit(format_computation(instruction, lanes, values, to_lanes)))
    return tuple(found)
