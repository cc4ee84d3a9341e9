"""Vectors that clang takes apart: two halves that are read or written side by side become one.

A float4 passes through the processor's calls as two float2. As one it is one row of all lanes.
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
from metalbench.msl.vector.private import SILENT

_HALF = 2


def join_halves(function: Function) -> None:
    """Do so in every block, where nothing comes between the two."""
    pointers = {
        each.result: each
        for _, each in function.instructions
        if isinstance(each, ElementPointer) and len(each.operands) == 2
    }
    numbers = iter(range(1 << 30))
    for block in function.blocks.values():
        for first, second in list(_pairs(block, pointers, function.layout)):
            _join(block, first, second, f"%halves.{next(numbers)}")


def _pairs(
    block: Block, pointers: dict[str, ElementPointer], layout: Layout
) -> Iterator[tuple[Memory, Memory]]:
    waiting: Memory | None = None
    for each in block.instructions:
        if not isinstance(each, Memory):
            waiting = None if _reaches_memory(each) else waiting
        elif waiting is not None and _follows(waiting, each, pointers, layout):
            yield waiting, each
            waiting = None
        else:
            waiting = each if _is_half(each) else None


def _reaches_memory(instruction: Instruction) -> bool:
    if isinstance(instruction, Call):
        return not instruction.name.startswith(SILENT)
    return instruction.opcode in ("atomicrmw", "cmpxchg", "fence")


def _is_half(memory: Memory) -> bool:
    accessed = memory.accessed
    plain = not memory.ordering and not memory.volatile
    return plain and isinstance(accessed, Vector) and accessed.count == _HALF


def _follows(
    first: Memory, second: Memory, pointers: dict[str, ElementPointer], layout: Layout
) -> bool:
    """Whether the second one is the same kind of access, right behind the first."""
    pointer = pointers.get(second.address.text)
    if pointer is None or pointer.operands[0] != first.address or not _is_half(second):
        return False
    if first.opcode != second.opcode or first.accessed != second.accessed:
        return False
    index = pointer.operands[1].integer
    return index is not None and index * layout.size(pointer.element) == layout.size(first.accessed)


def _join(block: Block, first: Memory, second: Memory, name: str) -> None:
    half = first.accessed
    assert isinstance(half, Vector)
    whole = Value(Vector(2 * _HALF, half.element), name)
    at, then = (block.instructions.index(each) for each in (first, second))
    if first.opcode == "load":
        load = replace(first, result=name, type=whole.type)
        block.instructions[then] = _part(whole, second, (2, 3))
        block.instructions[at : at + 1] = [load, _part(whole, first, (0, 1))]
        return
    parts = (first.operands[0], second.operands[0])
    order = (0, 1, 2, 3)
    both = Shuffle(opcode="shufflevector", result=name, type=whole.type, operands=parts, mask=order)
    both.place = first.place
    store = replace(first, operands=(whole, first.address))
    block.instructions[then : then + 1] = [both, store]
    del block.instructions[at]


def _part(whole: Value, of: Memory, elements: tuple[int, ...]) -> Shuffle:
    none = Value(whole.type, "poison")
    return Shuffle(
        opcode="shufflevector",
        result=of.result,
        type=of.type,
        operands=(whole, none),
        place=of.place,
        mask=elements,
    )
