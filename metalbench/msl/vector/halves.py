"""Combine loads or stores of two adjacent vector halves into one access.

clang passes a float4 as two float2 in the processor's calling convention. One access of four
elements is one contiguous row of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metalbench.msl.ir.model import (
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Shuffle,
    Value,
)
from metalbench.msl.ir.types import Layout, Vector
from metalbench.msl.vector.private import ASSUME_LIKE

_HALF = 2


def combine_vector_halves(function: Function) -> None:
    """Combine adjacent half accesses in each block if no other memory access is between them."""
    pointers = {
        each.result: each
        for _, each in function.instructions
        if isinstance(each, ElementPointer) and len(each.operands) == 2
    }
    numbers = iter(range(1 << 30))
    for block in function.blocks.values():
        for first, second in list(_find_pairs(block, pointers, function.layout)):
            _combine(block, first, second, f"%halves.{next(numbers)}")


def _find_pairs(
    block: Block, pointers: dict[str, ElementPointer], layout: Layout
) -> Iterator[tuple[Memory, Memory]]:
    waiting: Memory | None = None
    for each in block.instructions:
        if not isinstance(each, Memory):
            waiting = None if _may_access_memory(each) else waiting
        elif waiting is not None and _is_second_half(waiting, each, pointers, layout):
            yield waiting, each
            waiting = None
        else:
            waiting = each if _is_half_access(each) else None


def _may_access_memory(instruction: Instruction) -> bool:
    if isinstance(instruction, Call):
        return not instruction.name.startswith(ASSUME_LIKE)
    return instruction.opcode in ("atomicrmw", "cmpxchg", "fence")


def _is_half_access(memory: Memory) -> bool:
    accessed = memory.accessed
    plain = not memory.ordering and not memory.volatile
    return plain and isinstance(accessed, Vector) and accessed.count == _HALF


def _is_second_half(
    first: Memory, second: Memory, pointers: dict[str, ElementPointer], layout: Layout
) -> bool:
    """Return whether `second` is the same kind of access as `first`, at the adjacent address."""
    pointer = pointers.get(second.address.text)
    if pointer is None or pointer.operands[0] != first.address or not _is_half_access(second):
        return False
    if first.opcode != second.opcode or first.accessed != second.accessed:
        return False
    index = pointer.operands[1].integer
    return index is not None and index * layout.size(pointer.element) == layout.size(first.accessed)


def _combine(block: Block, first: Memory, second: Memory, name: str) -> None:
    half = first.accessed
    assert isinstance(half, Vector)
    whole = Value(Vector(2 * _HALF, half.element), name)
    at, then = (block.instructions.index(each) for each in (first, second))
    if first.opcode == "load":
        load = replace(first, result=name, type=whole.type)
        block.instructions[then] = _extract_half(whole, second, (2, 3))
        block.instructions[at : at + 1] = [load, _extract_half(whole, first, (0, 1))]
        return
    parts = (first.operands[0], second.operands[0])
    order = (0, 1, 2, 3)
    both = Shuffle(opcode="shufflevector", result=name, type=whole.type, operands=parts, mask=order)
    both.place = first.place
    store = replace(first, operands=(whole, first.address))
    block.instructions[then : then + 1] = [both, store]
    del block.instructions[at]


def _extract_half(whole: Value, of: Memory, elements: tuple[int, ...]) -> Shuffle:
    none = Value(whole.type, "poison")
    return Shuffle(
        opcode="shufflevector",
        result=of.result,
        type=of.type,
        operands=(whole, none),
        place=of.place,
        mask=elements,
    )
