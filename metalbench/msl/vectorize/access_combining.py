"""Combine loads or stores of two adjacent vector halves into one access.

clang passes a float4 as two float2 in the processor's calling convention. One access of four
elements is one contiguous row of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from metalbench.msl.analysis.private_memory import ASSUME_LIKE, FunctionAnalysis
from metalbench.msl.analysis.uniformity import UNIFORM, VARYING, Affine, Uniformity
from metalbench.msl.ir.model import (
    BasicBlock,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Shuffle,
    Value,
)
from metalbench.msl.ir.types import BOOL, Float, Int, Layout, Vector

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
    block: BasicBlock, pointers: dict[str, ElementPointer], layout: Layout
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
    if isinstance(instruction, CallInstruction):
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


def _combine(block: BasicBlock, first: Memory, second: Memory, name: str) -> None:
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


# Load/store combining: make one vector access of a lane's adjacent scalar accesses.
#
# If `x[i]` to `x[i + 3]` are accessed and the next lane starts at `x[i + 4]`, all lanes access one
# contiguous row. As one access it is recognised as such, and its address is checked once.

_QUAD = 4  # one address per group, for any uniformity
_PAIR = 2  # only if the next lane starts directly after them
_INDEX = Int(64)
_Group = list[Memory]  # in the order of their addresses


def combine_accesses(function: Function, analysis: FunctionAnalysis) -> FunctionAnalysis:
    """Combine adjacent accesses in each block if no access between them may alias.

    Return the analysis, extended by the new values.
    """
    return _AccessCombiner(function, analysis).run()


class _AccessCombiner:
    def __init__(self, function: Function, analysis: FunctionAnalysis) -> None:
        self._function = function
        self._analysis = analysis
        self._offsets = _find_constant_offsets(function)
        self._uniformity: dict[str, Uniformity] = {}
        self._definitions: dict[str, BasicBlock] = {}

    def run(self) -> FunctionAnalysis:
        for block in self._function.blocks.values():
            for group in list(self._find_groups(block)):
                self._combine(block, group)
        known = self._analysis.uniformity
        info = replace(
            known,
            by_name={**known.by_name, **self._uniformity},
            definitions={**known.definitions, **self._definitions},
        )
        return replace(self._analysis, uniformity=info)

    def _find_groups(self, block: BasicBlock) -> Iterator[_Group]:
        waiting: list[Memory] = []
        for each in block.instructions:
            is_one = self._is_scalar(each)
            if waiting and _ends_group(waiting[0], each, is_one=is_one):
                yield from self._group_by_base(block, waiting)
                waiting = []
            if is_one and isinstance(each, Memory):
                waiting.append(each)
        yield from self._group_by_base(block, waiting)

    def _is_scalar(self, instruction: Instruction) -> bool:
        if not isinstance(instruction, Memory) or instruction.ordering or instruction.volatile:
            return False
        kind, variables = instruction.accessed, self._analysis.variables
        is_number = isinstance(kind, Int | Float) and kind != BOOL
        return is_number and instruction.address.text not in variables

    def _group_by_base(self, block: BasicBlock, waiting: list[Memory]) -> Iterator[_Group]:
        """Yield groups among loads, or among stores, with one base address and element type."""
        by_root: dict[tuple[str, str], list[tuple[int, Memory]]] = {}
        for each in waiting:
            root, offset = self._offsets.get(each.address.text, (each.address, 0))
            by_root.setdefault((root.text, str(each.accessed)), []).append((offset, each))
        if waiting and waiting[0].opcode == "store" and len(by_root) > 1:
            return  # the order of stores to one address matters
        for found in by_root.values():
            offsets = [offset for offset, _ in found]
            if offsets == sorted(set(offsets)):
                yield from self._group_adjacent(block, found)

    def _group_adjacent(
        self, block: BasicBlock, found: list[tuple[int, Memory]]
    ) -> Iterator[_Group]:
        """Yield the groups of adjacent accesses."""
        while found:
            size = self._function.layout.size(found[0][1].accessed)
            count = self._get_group_size(block, found[0][1], size)
            group = found[:count]
            steps = {after[0] - before[0] for before, after in pairwise(group)}
            if len(group) == count and steps == {size}:
                yield [each for _, each in group]
                found = found[count:]
            else:
                found = found[1:]

    def _get_group_size(self, block: BasicBlock, memory: Memory, size: int) -> int:
        """Return how many elements form a group without elements of the next lane; else 0."""
        uniformity = self._analysis.uniformity.get(memory.address, block)
        if uniformity is VARYING:
            return _QUAD
        if not isinstance(uniformity, Affine) or uniformity.stride % size:
            return 0
        apart = abs(uniformity.stride) // size
        return apart if apart == _PAIR else _QUAD if apart >= _QUAD else 0

    def _combine(self, block: BasicBlock, group: _Group) -> None:
        kind = group[0].accessed
        assert isinstance(kind, Int | Float)
        whole = Vector(len(group), kind)
        if group[0].opcode == "load":
            self._combine_loads(block, group, whole)
        else:
            self._combine_stores(block, group, whole)

    def _combine_loads(self, block: BasicBlock, group: _Group, whole: Vector) -> None:
        load = replace(group[0], result=self._add_value(block, VARYING), type=whole)
        found = Value(whole, load.result)
        block.instructions.insert(_find_index(block, group[0]), load)
        for at, each in enumerate(group):
            part = Instruction(
                opcode="extractelement",
                result=each.result,
                type=each.type,
                operands=(found, Value(_INDEX, str(at))),
                place=each.place,
            )
            block.instructions[_find_index(block, each)] = part

    def _combine_stores(self, block: BasicBlock, group: _Group, whole: Vector) -> None:
        value, uniformity, parts = Value(whole, "poison"), UNIFORM, []
        for at, each in enumerate(group):
            stored = each.operands[0]
            alike = (
                uniformity is UNIFORM and self._analysis.uniformity.get(stored, block) is UNIFORM
            )
            uniformity = UNIFORM if alike else VARYING
            name = self._add_value(block, uniformity)
            parts.append(
                Instruction(
                    opcode="insertelement",
                    result=name,
                    type=whole,
                    operands=(value, stored, Value(_INDEX, str(at))),
                    place=each.place,
                )
            )
            value = Value(whole, name)
        store = replace(group[0], operands=(value, group[0].address))
        last = _find_index(block, group[-1])
        block.instructions[last : last + 1] = [*parts, store]
        for each in group[:-1]:
            del block.instructions[_find_index(block, each)]

    def _add_value(self, block: BasicBlock, uniformity: Uniformity) -> str:
        name = f"%quad.{len(self._uniformity)}"
        self._uniformity[name], self._definitions[name] = uniformity, block
        return name


def _find_constant_offsets(function: Function) -> Mapping[str, tuple[Value, int]]:
    """Return the base and the constant offset in bytes of each address that has one."""
    found: dict[str, tuple[Value, int]] = {}
    for _, each in function.instructions:
        if isinstance(each, ElementPointer) and len(each.operands) == 2:
            base, index = each.operands[0], each.operands[1].integer
            if index is not None:
                root, offset = found.get(base.text, (base, 0))
                found[each.result] = root, offset + index * function.layout.size(each.element)
    return found


def _ends_group(first: Memory, other: Instruction, *, is_one: bool) -> bool:
    """Return whether accesses like `first` cannot be combined across another instruction."""
    if isinstance(other, Memory):
        both_load = first.opcode == other.opcode == "load" and not other.ordering
        return not both_load and not (is_one and other.opcode == first.opcode)
    if isinstance(other, CallInstruction):
        return not other.name.startswith(ASSUME_LIKE)
    return other.opcode in ("atomicrmw", "cmpxchg", "fence")


def _find_index(block: BasicBlock, instruction: Instruction) -> int:
    return next(at for at, each in enumerate(block.instructions) if each is instruction)
