"""Components of a vector that a kernel reads or writes one by one become one access.

`x[i]`, `x[i + 1]`, `x[i + 2]` and `x[i + 3]`, where the next lane begins with `x[i + 4]`, are one
row of all lanes in memory. As one access it is seen to be, and its address is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from metalbench.msl.ir.model import (
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.types import BOOL, Float, Int, Vector
from metalbench.msl.vector.private import SILENT, Analysed
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Linear, Shape

_QUAD = 4  # whose place is found once, wherever lanes are
_PAIR = 2  # where the next lane goes on behind them
_INDEX = Int(64)
_Group = list[Memory]  # in the order of their addresses


def join_quads(function: Function, analysed: Analysed) -> Analysed:
    """Do so in every block, where nothing comes between that might touch the same memory.

    Returns what was known of the function, and what is of the new values.
    """
    return _Joining(function, analysed).run()


class _Joining:
    def __init__(self, function: Function, analysed: Analysed) -> None:
        self._function = function
        self._analysed = analysed
        self._places = _places(function)
        self._shapes: dict[str, Shape] = {}
        self._definitions: dict[str, Block] = {}

    def run(self) -> Analysed:
        for block in self._function.blocks.values():
            for group in list(self._groups(block)):
                self._join(block, group)
        known = self._analysed.shapes
        shapes = replace(
            known,
            shapes={**known.shapes, **self._shapes},
            definitions={**known.definitions, **self._definitions},
        )
        return replace(self._analysed, shapes=shapes)

    def _groups(self, block: Block) -> Iterator[_Group]:
        waiting: list[Memory] = []
        for each in block.instructions:
            is_one = self._is_scalar(each)
            if waiting and _is_between(waiting[0], each, is_one=is_one):
                yield from self._of_one_kind(block, waiting)
                waiting = []
            if is_one and isinstance(each, Memory):
                waiting.append(each)
        yield from self._of_one_kind(block, waiting)

    def _is_scalar(self, instruction: Instruction) -> bool:
        if not isinstance(instruction, Memory) or instruction.ordering or instruction.volatile:
            return False
        kind, variables = instruction.accessed, self._analysed.variables
        is_number = isinstance(kind, Int | Float) and kind != BOOL
        return is_number and instruction.address.text not in variables

    def _of_one_kind(self, block: Block, waiting: list[Memory]) -> Iterator[_Group]:
        """Groups of what are all loads, or all stores, in the order of the block."""
        by_root: dict[tuple[str, str], list[tuple[int, Memory]]] = {}
        for each in waiting:
            root, offset = self._places.get(each.address.text, (each.address, 0))
            by_root.setdefault((root.text, str(each.accessed)), []).append((offset, each))
        if waiting and waiting[0].opcode == "store" and len(by_root) > 1:
            return  # of what may be written to one place, the order counts
        for found in by_root.values():
            offsets = [offset for offset, _ in found]
            if offsets == sorted(set(offsets)):
                yield from self._side_by_side(block, found)

    def _side_by_side(self, block: Block, found: list[tuple[int, Memory]]) -> Iterator[_Group]:
        """As many as may be one."""
        while found:
            size = self._function.layout.size(found[0][1].accessed)
            count = self._most_of(block, found[0][1], size)
            group = found[:count]
            steps = {after[0] - before[0] for before, after in pairwise(group)}
            if len(group) == count and steps == {size}:
                yield [each for _, each in group]
                found = found[count:]
            else:
                found = found[1:]

    def _most_of(self, block: Block, memory: Memory, size: int) -> int:
        """How many elements may make a group: none of them is the next lane's."""
        shape = self._analysed.shapes.of(memory.address, block)
        if shape is VARYING:
            return _QUAD
        if not isinstance(shape, Linear) or shape.stride % size:
            return 0
        apart = abs(shape.stride) // size
        return apart if apart == _PAIR else _QUAD if apart >= _QUAD else 0

    def _join(self, block: Block, group: _Group) -> None:
        kind = group[0].accessed
        assert isinstance(kind, Int | Float)
        whole = Vector(len(group), kind)
        if group[0].opcode == "load":
            self._join_loads(block, group, whole)
        else:
            self._join_stores(block, group, whole)

    def _join_loads(self, block: Block, group: _Group, whole: Vector) -> None:
        load = replace(group[0], result=self._fresh(block, VARYING), type=whole)
        found = Value(whole, load.result)
        block.instructions.insert(_index(block, group[0]), load)
        for at, each in enumerate(group):
            part = Instruction(
                opcode="extractelement",
                result=each.result,
                type=each.type,
                operands=(found, Value(_INDEX, str(at))),
                place=each.place,
            )
            block.instructions[_index(block, each)] = part

    def _join_stores(self, block: Block, group: _Group, whole: Vector) -> None:
        value, shape, parts = Value(whole, "poison"), UNIFORM, []
        for at, each in enumerate(group):
            stored = each.operands[0]
            alike = shape is UNIFORM and self._analysed.shapes.of(stored, block) is UNIFORM
            shape = UNIFORM if alike else VARYING
            name = self._fresh(block, shape)
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
        last = _index(block, group[-1])
        block.instructions[last : last + 1] = [*parts, store]
        for each in group[:-1]:
            del block.instructions[_index(block, each)]

    def _fresh(self, block: Block, shape: Shape) -> str:
        name = f"%quad.{len(self._shapes)}"
        self._shapes[name], self._definitions[name] = shape, block
        return name


def _places(function: Function) -> Mapping[str, tuple[Value, int]]:
    """Of addresses with constant offsets: what they count from, and how many bytes."""
    found: dict[str, tuple[Value, int]] = {}
    for _, each in function.instructions:
        if isinstance(each, ElementPointer) and len(each.operands) == 2:
            base, index = each.operands[0], each.operands[1].integer
            if index is not None:
                root, offset = found.get(base.text, (base, 0))
                found[each.result] = root, offset + index * function.layout.size(each.element)
    return found


def _is_between(first: Memory, other: Instruction, *, is_one: bool) -> bool:
    """Whether accesses like the first one, before and behind another, may not become one."""
    if isinstance(other, Memory):
        both_load = first.opcode == other.opcode == "load" and not other.ordering
        return not both_load and not (is_one and other.opcode == first.opcode)
    if isinstance(other, Call):
        return not other.name.startswith(SILENT)
    return other.opcode in ("atomicrmw", "cmpxchg", "fence")


def _index(block: Block, instruction: Instruction) -> int:
    return next(at for at, each in enumerate(block.instructions) if each is instruction)
