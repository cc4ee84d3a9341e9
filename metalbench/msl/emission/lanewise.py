"""Instructions on the vectors of all lanes, one for each component."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.division import DIVISIONS, divisors
from metalbench.msl.emission.instructions import computed
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.parts import extract, insert, put, select, shuffle, take
from metalbench.msl.emission.recast import recast
from metalbench.msl.emission.shifts import SHIFTS, amount
from metalbench.msl.ir.model import Instruction

_PARTS: dict[str, Callable[[Body, Instruction, Sequence[Lanes]], tuple[str, ...]]] = {
    "select": select,
    "extractelement": extract,
    "insertelement": insert,
    "shufflevector": shuffle,
    "extractvalue": take,
    "insertvalue": put,
}


def vectors(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """Every component of an instruction's result, in all lanes. Raises IrError."""
    if instruction.opcode in _PARTS:
        return _PARTS[instruction.opcode](body, instruction, operands)
    given = [body.vectors(each) for each in operands]
    of = body.components(operands[0].type)
    to = body.components(instruction.type)
    if instruction.opcode == "bitcast" and len(of) != len(to):
        return recast(body, of[0], to, given[0])
    found = []
    for at, kind in enumerate(of):
        lanes, values = body.code.lanes(kind), [each[at] for each in given]
        if instruction.opcode in DIVISIONS:
            values[1] = divisors(body, instruction, lanes, values, kind)
        if instruction.opcode in SHIFTS:
            values[1] = amount(body, instruction, lanes, values)
        to_lanes = body.code.lanes(to[at])
        found.append(body.code.value(computed(instruction, lanes, values, to_lanes)))
    return tuple(found)
