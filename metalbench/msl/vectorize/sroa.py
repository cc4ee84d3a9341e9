"""SROA: split a private variable into the parts that are accessed together.

As in LLVM's SROA, but the parts stay in memory. A variable that holds uniform sums of a matrix
product and a varying position would otherwise exist once per lane, with all its operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from metalbench.msl.analysis.private_memory import (
    LANES_FUNCTIONS,
    MATRIX_FUNCTIONS,
    MEMORY_INTRINSICS,
)
from metalbench.msl.ir.model import (
    Alloca,
    BasicBlock,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.operands import dereferenceable_bytes_of
from metalbench.msl.ir.types import ArrayType, Int, Layout

_BYTE, _INDEX = Int(8), Int(64)
_LIFETIME = "llvm.lifetime."
# For each value the instructions that use it, with the operand's position.
_UseMap = dict[str, list[tuple[Instruction, int]]]


class _Offset(NamedTuple):
    """Offset of an address in a variable, in bytes; if it is not exact, a lower bound."""

    offset: int
    is_exact: bool


@dataclass
class _AllocaSlices:
    """Addresses in one variable, and the byte ranges that are accessed."""

    alloca: Alloca
    size: int
    addresses: dict[str, _Offset] = field(default_factory=dict)
    accesses: list[tuple[int, int]] = field(default_factory=list)

    def partitions(self) -> list[tuple[int, int]]:
        """Return the sorted unions of overlapping byte ranges, as (begin, end)."""
        found: list[tuple[int, int]] = []
        for begin, end in sorted(self.accesses):
            if found and begin < found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((begin, end))
        return found


def split_allocas(function: Function) -> None:
    """Split each variable whose accesses are all known and leave several partitions."""
    allocas = [each for _, each in function.instructions if isinstance(each, Alloca)]
    # No address is in two variables. Splitting one does not change the users of another.
    users = _collect_users(function)
    for each in allocas:
        if each.count is None:
            slices = _AllocaSlices(each, function.layout.size(each.allocated))
            if _collect_slices(slices, users, function.layout) and len(slices.partitions()) > 1:
                _split_alloca(function, slices)


def _collect_users(function: Function) -> _UseMap:
    users: _UseMap = {}
    for _, each in function.instructions:
        for at, operand in enumerate(each.operands):
            if operand.is_local:
                users.setdefault(operand.text, []).append((each, at))
    return users


def _collect_slices(slices: _AllocaSlices, users: _UseMap, layout: Layout) -> bool:
    """Collect addresses and accesses. Return False if an access is unknown."""
    addresses = slices.addresses
    addresses[slices.alloca.result] = _Offset(0, is_exact=True)
    work = [slices.alloca.result]
    while work:
        address = work.pop()
        begin, is_exact = place = addresses[address]
        for each, at in users.get(address, ()):
            if isinstance(each, ElementPointer) and at == 0:
                moved = _add_offset(place, each, layout)
                if moved is None:
                    return False
                addresses[each.result] = moved
                work.append(each.result)
            elif not (isinstance(each, CallInstruction) and each.name.startswith(_LIFETIME)):
                length = _get_access_size(each, at, layout)
                if length is None:
                    return False
                end = begin + length if is_exact else slices.size
                slices.accesses.append((begin, min(end, slices.size)))
    return True


def _add_offset(place: _Offset, pointer: ElementPointer, layout: Layout) -> _Offset | None:
    offset = _accumulate_offset(pointer, layout)
    if offset is None:
        # Without unsigned wrap the address is not below its base.
        return _Offset(place.offset, is_exact=False) if "nuw" in pointer.flags else None
    if place.offset + offset < 0 or (offset < 0 and not place.is_exact):
        return None
    return _Offset(place.offset + (offset if place.is_exact else 0), place.is_exact)


def _accumulate_offset(pointer: ElementPointer, layout: Layout) -> int | None:
    """Return the constant offset of a pointer in bytes; None if it is not constant."""
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


def _get_access_size(instruction: Instruction, operand: int, layout: Layout) -> int | None:
    """Return the bytes that an instruction accesses at an operand's address; None if unknown."""
    if isinstance(instruction, Memory):
        is_address = operand == len(instruction.operands) - 1
        return layout.size(instruction.accessed) if is_address else None
    if not isinstance(instruction, CallInstruction):
        return None
    if instruction.name.startswith(MEMORY_INTRINSICS):
        return instruction.operands[2].integer
    if LANES_FUNCTIONS.match(instruction.name):
        return None
    if MATRIX_FUNCTIONS.match(instruction.name):
        return dereferenceable_bytes_of(instruction.parameters[operand])
    return None


def _split_alloca(function: Function, slices: _AllocaSlices) -> None:
    whole, partitions = slices.alloca, slices.partitions()
    names = [f"{whole.result}.{number}" for number in range(len(partitions))]
    for block in function.blocks.values():
        block.instructions = list(_rewrite_block(block, slices, partitions, names))


def _rewrite_block(
    block: BasicBlock,
    slices: _AllocaSlices,
    partitions: Sequence[tuple[int, int]],
    names: Sequence[str],
) -> Iterator[Instruction]:
    whole, addresses = slices.alloca, slices.addresses

    starts = [begin - begin % whole.alignment for begin, _ in partitions]

    def find_partition(place: _Offset) -> int:
        before = [at for at, (begin, _) in enumerate(partitions) if begin <= place.offset]
        return before[-1] if before else 0

    for each in block.instructions:
        if each is whole:
            for name, start, (_, end) in zip(names, starts, partitions, strict=True):
                yield replace(whole, result=name, allocated=ArrayType(end - start, _BYTE))
        elif isinstance(each, CallInstruction) and each.name.startswith(_LIFETIME):
            if not any(operand.text in addresses for operand in each.operands):
                yield each
        elif each.result in addresses and addresses[each.result].is_exact:
            place = addresses[each.result]
            which = find_partition(place)
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
