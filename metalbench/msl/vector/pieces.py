"""Variables of which lanes have some parts alike and others not: each part becomes one by itself.

What holds the sums of a product, which are one for all lanes, and a thread's place, which is not,
would be there for every lane as a whole, and all that is done with the sums be done for every lane.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from metalbench.msl.ir.model import (
    Alloca,
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.types import Array, Int, Layout
from metalbench.msl.vector.private import COPIES_OR_FILLS, MATRICES

_BYTE, _INDEX = Int(8), Int(64)
_LIFETIME = "llvm.lifetime."
# Of every value the instructions that have it as an operand, and as which.
_Users = dict[str, list[tuple[Instruction, int]]]
_EXTENT = re.compile(r"\bdereferenceable\((\d+)\)")


class _Place(NamedTuple):
    """An address in a variable: so many bytes from its start, or any from there on."""

    offset: int
    is_known: bool


@dataclass
class _Variable:
    """What is known of one: its addresses, and the bytes that are accessed at each."""

    alloca: Alloca
    size: int
    places: dict[str, _Place] = field(default_factory=dict)
    accessed: list[tuple[int, int]] = field(default_factory=list)

    def pieces(self) -> list[tuple[int, int]]:
        """The bytes that are accessed together: where they begin and end."""
        found: list[tuple[int, int]] = []
        for begin, end in sorted(self.accessed):
            if found and begin < found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((begin, end))
        return found


def split_variables(function: Function) -> None:
    """Do so with all variables of which every address, or where it begins, is known."""
    allocas = [each for _, each in function.instructions if isinstance(each, Alloca)]
    users = _users(function)  # no address is in two variables: what is split changes no other's
    for each in allocas:
        if each.count is None:
            variable = _Variable(each, function.layout.size(each.allocated))
            if _find(variable, users, function.layout) and len(variable.pieces()) > 1:
                _split(function, variable)


def _users(function: Function) -> _Users:
    users: _Users = {}
    for _, each in function.instructions:
        for at, operand in enumerate(each.operands):
            if operand.is_local:
                users.setdefault(operand.text, []).append((each, at))
    return users


def _find(variable: _Variable, users: _Users, layout: Layout) -> bool:
    """Fill in what is known; False if that is not enough."""
    places = variable.places
    places[variable.alloca.result] = _Place(0, is_known=True)
    work = [variable.alloca.result]
    while work:
        address = work.pop()
        begin, is_known = place = places[address]
        for each, at in users.get(address, ()):
            if isinstance(each, ElementPointer) and at == 0:
                moved = _moved(place, each, layout)
                if moved is None:
                    return False
                places[each.result] = moved
                work.append(each.result)
            elif not _is_said(each):
                length = _length(each, at, layout)
                if length is None:
                    return False
                end = begin + length if is_known else variable.size
                variable.accessed.append((begin, min(end, variable.size)))
    return True


def _moved(place: _Place, pointer: ElementPointer, layout: Layout) -> _Place | None:
    offset = _offset(pointer, layout)
    if offset is None:
        # It is somewhere behind, if it says that it is not before.
        return _Place(place.offset, is_known=False) if "nuw" in pointer.flags else None
    if place.offset + offset < 0 or (offset < 0 and not place.is_known):
        return None
    return _Place(place.offset + (offset if place.is_known else 0), place.is_known)


def _offset(pointer: ElementPointer, layout: Layout) -> int | None:
    """How many bytes it moves an address; None if that is not known."""
    total, inside = 0, pointer.element
    for at, index in enumerate(pointer.operands[1:]):
        number = index.integer
        if number is None:
            return None
        if at:
            start, inside = layout.member(inside, number)
            total += start
        else:
            total += number * layout.size(inside)
    return total


def _is_said(instruction: Instruction) -> bool:
    """Whether it only says that a variable is there."""
    return isinstance(instruction, Call) and instruction.name.startswith(_LIFETIME)


def _length(instruction: Instruction, operand: int, layout: Layout) -> int | None:
    """How many bytes an instruction accesses at the address that an operand is."""
    if isinstance(instruction, Memory):
        is_address = operand == len(instruction.operands) - 1
        return layout.size(instruction.accessed) if is_address else None
    if not isinstance(instruction, Call):
        return None
    if COPIES_OR_FILLS.match(instruction.name):
        return instruction.operands[2].integer
    extent = _EXTENT.search(instruction.parameters[operand])
    is_matrix = MATRICES.match(instruction.name)
    return int(extent[1]) if is_matrix and extent else None


def _split(function: Function, variable: _Variable) -> None:
    whole, pieces = variable.alloca, variable.pieces()
    names = [f"{whole.result}.{number}" for number in range(len(pieces))]
    for block in function.blocks.values():
        block.instructions = list(_rewritten(block, variable, pieces, names))


def _rewritten(
    block: Block, variable: _Variable, pieces: Sequence[tuple[int, int]], names: Sequence[str]
) -> Iterator[Instruction]:
    whole, places = variable.alloca, variable.places

    starts = [begin - begin % whole.alignment for begin, _ in pieces]

    def piece_of(place: _Place) -> int:
        before = [at for at, (begin, _) in enumerate(pieces) if begin <= place.offset]
        return before[-1] if before else 0

    for each in block.instructions:
        if each is whole:
            for name, start, (_, end) in zip(names, starts, pieces, strict=True):
                yield replace(whole, result=name, allocated=Array(end - start, _BYTE))
        elif isinstance(each, Call) and each.name.startswith(_LIFETIME):
            if not any(operand.text in places for operand in each.operands):
                yield each
        elif each.result in places and places[each.result].is_known:
            place = places[each.result]
            which = piece_of(place)
            base = Value(whole.type, names[which])
            index = Value(_INDEX, str(place.offset - starts[which]))
            yield ElementPointer(
                opcode="getelementptr",
                result=each.result,
                type=each.type,
                operands=(base, index),
                place=each.place,
                element=_BYTE,
            )
        else:
            each.operands = tuple(
                Value(value.type, names[0]) if value.text == whole.result else value
                for value in each.operands
            )
            yield each
