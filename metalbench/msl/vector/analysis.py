"""The shape of every value of a function, and with it where its lanes part.

Optimistic: everything is taken for uniform until something says otherwise, which only ever makes
shapes more general, so that it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Phi,
    Value,
)
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Int, Pointer
from metalbench.msl.vector.congruent import same_values
from metalbench.msl.vector.divergence import Divergence
from metalbench.msl.vector.folding import Lanes, fold, unsigned
from metalbench.msl.vector.shapes import (
    UNIFORM,
    VARYING,
    Known,
    Linear,
    Shape,
    as_linear,
    is_checked,
    join,
    stride_of,
    strided,
)

# What comes out of a function that the kernel calls, by the shapes of what goes in.
Source = Callable[[Call, Sequence[Shape]], Shape]
_ROUNDS = 200


@dataclass(frozen=True)
class Layout:
    """Where private memory is: of each variable that every lane has its own of, bytes to the next.

    Of `interleaved` ones, element k of all lanes stands together.
    """

    strides: Mapping[str, int] = field(default_factory=dict)
    interleaved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shapes:
    """What the analysis found: `of` any value, as its definition sees it, or as a block does."""

    shapes: Mapping[str, Shape]
    divergence: Divergence
    definitions: Mapping[str, Block]

    def of(self, value: Value, seen_from: Block | None = None) -> Shape:
        """The shape of an operand; behind a loop that lanes leave at different times it varies."""
        shape = self.shapes.get(value.text, UNIFORM)
        if seen_from is None or shape is VARYING or isinstance(shape, Known):
            return shape
        defined = self.definitions.get(value.text)
        if defined is None:
            return shape
        return VARYING if self.divergence.leaves_turns(defined, seen_from) else shape


def analyse(
    function: Function,
    flow: Flow,
    width: int,
    sources: Mapping[str, Source],
    layout: Layout | None = None,
) -> Shapes:
    """Find the shapes in a function that runs `width` lanes at a time. Raises IrError."""
    return _Analysis(function, flow, width, sources, layout or Layout()).run()


class _Analysis:
    def __init__(
        self,
        function: Function,
        flow: Flow,
        width: int,
        sources: Mapping[str, Source],
        layout: Layout,
    ) -> None:
        self._function = function
        self._flow = flow
        self._width = width
        self._sources = sources
        self._layout = layout
        self._divergence = Divergence(flow)
        self._shapes: dict[str, Shape] = {}
        self._instructions = dict(function.definitions())
        self._blocks = {each.result: block for block, each in function.instructions if each.result}
        self._known = Shapes(self._shapes, self._divergence, self._blocks)

    def run(self) -> Shapes:
        for _ in range(_ROUNDS):
            if not self._round() and not self._start_cycles():
                return self._known
        raise IrError(f"{self._function.name}: the shapes of its values find no end")

    def _round(self) -> bool:
        changed = False
        for block in self._flow.order:
            for each in block.instructions:
                if each.result:
                    changed |= self._update(each, block)
            condition = block.terminator.operands
            if len(block.successors) > 1 and self._shape(condition[0], block) not in (
                None,
                UNIFORM,
            ):
                changed |= self._divergence.add(block)
        return changed

    def _start_cycles(self) -> bool:
        """Take phis for uniform that have only undefined values and such as depend on the phi.

        Of these nothing is known before, though what goes into their cycle elsewhere may vary.
        """
        found = [
            each.result
            for block in self._flow.order
            for each in block.instructions
            if isinstance(each, Phi)
            and each.result not in self._shapes
            and any(operand.is_undefined for operand in each.operands)
        ]
        self._shapes.update(dict.fromkeys(found, UNIFORM))
        return bool(found)

    def _update(self, instruction: Instruction, block: Block) -> bool:
        before = self._shapes.get(instruction.result)
        if before is VARYING:  # than which nothing is more general
            return False
        found = self._transfer(instruction, block)
        if found is None or found == before:
            return False
        # Never back to what is less general.
        now = found if before is None else join(before, found)
        self._shapes[instruction.result] = now
        return now != before

    def _shape(self, value: Value, block: Block) -> Shape | None:
        """None while nothing is known of it yet."""
        if value.text in self._instructions and value.text not in self._shapes:
            return None
        return self._known.of(value, block)

    def _transfer(self, instruction: Instruction, block: Block) -> Shape | None:
        if isinstance(instruction, Phi):
            return self._phi(instruction, block)
        if isinstance(instruction, Alloca):
            return strided(self._layout.strides.get(instruction.result, 0))
        seen = [self._shape(operand, block) for operand in instruction.operands]
        shapes = [shape for shape in seen if shape is not None]
        if len(shapes) < len(seen):
            return None
        if isinstance(instruction, Call) and instruction.name in self._sources:
            return self._sources[instruction.name](instruction, shapes)
        if isinstance(instruction, Atomic):
            return VARYING
        return self._computed(instruction, shapes, block)

    def _computed(self, instruction: Instruction, shapes: Sequence[Shape], block: Block) -> Shape:
        if shapes.count(UNIFORM) == len(shapes):
            return UNIFORM
        return self._folded(instruction, shapes) or self._linear(instruction, shapes, block)

    def _phi(self, phi: Phi, block: Block) -> Shape | None:
        found: Shape | None = None
        for value, source in zip(phi.operands, phi.sources, strict=True):
            if value.is_undefined:
                continue
            shape = self._shape(value, self._function.blocks[source])
            if shape is not None:
                if self._of_turns(shape, self._function.blocks[source], block):
                    shape = VARYING
                found = shape if found is None else join(found, shape)
        if found is None:
            return UNIFORM if all(each.is_undefined for each in phi.operands) else None
        # Lanes come by different ways; what is one value comes by all of them alike.
        parted = found is not VARYING and block in self._divergence.joins
        return VARYING if parted and not self._is_one(phi) else found

    def _is_one(self, phi: Phi) -> bool:
        given = (each.text for each in phi.operands if not each.is_undefined)
        return len({self._same.get(each, each) for each in given}) == 1

    @cached_property
    def _same(self) -> Mapping[str, str]:
        return same_values(self._flow)

    def _of_turns(self, shape: Shape, source: Block, block: Block) -> bool:
        """Whether lanes come on a way out of a loop, each after turns of its own."""
        return not isinstance(shape, Known) and self._divergence.leaves_turns(source, block)

    def _folded(self, instruction: Instruction, shapes: Sequence[Shape]) -> Shape | None:
        if not any(isinstance(shape, Known) for shape in shapes):
            return None
        operands = [
            self._lanes(value, shape)
            for value, shape in zip(instruction.operands, shapes, strict=True)
        ]
        known = [each for each in operands if each is not None]
        result = fold(instruction, known) if len(known) == len(operands) else None
        return Known(result) if result is not None else None

    def _lanes(self, value: Value, shape: Shape) -> Lanes | None:
        if isinstance(shape, Known):
            return shape.values
        number = value.integer
        if number is None or not isinstance(value.type, Int):
            return None
        return (unsigned(number, value.type.bits),) * self._width

    def _linear(self, instruction: Instruction, shapes: Sequence[Shape], block: Block) -> Shape:
        strides = [stride_of(shape) for shape in shapes]
        checked = any(is_checked(as_linear(shape)) for shape in shapes)
        known = [each for each in strides if each is not None]
        if isinstance(instruction, ElementPointer) and len(known) == len(strides):
            return self._address(instruction, known, checked=checked)
        if instruction.opcode in ("zext", "sext") and known:
            return self._widened(instruction, known[0], block, checked=checked)
        if instruction.opcode == "select":
            known = known if shapes[0] is UNIFORM else []
        if len(known) < len(strides) or not isinstance(instruction.type, Int | Pointer):
            return VARYING
        stride = _stride(instruction, known)
        return VARYING if stride is None else strided(stride, checked=checked)

    def _widened(
        self, instruction: Instruction, stride: int, block: Block, *, checked: bool
    ) -> Shape:
        operand = instruction.operands[0]
        if operand.type == BOOL or not isinstance(instruction.type, Int):
            return VARYING
        # What is said of a value is said of the lanes that are active. Where some are not, lane 0
        # may be one of them, and its value lie beyond the others' range.
        proven = block not in self._divergence.masked and self._never_wraps(operand, instruction)
        return Linear(stride, checked or not proven) if stride else UNIFORM

    def _never_wraps(self, value: Value, widening: Instruction) -> bool:
        """Whether lane 0's value plus the stride is within the type for every lane."""
        if "nneg" in widening.flags:
            return True
        instruction = self._instructions.get(value.text)
        if instruction is None or isinstance(instruction, Call):
            return instruction is not None
        flag = "nuw" if widening.opcode == "zext" else "nsw"
        adds = instruction.opcode in ("add", "mul", "shl") and flag in instruction.flags
        if not adds and not (instruction.opcode == "or" and "disjoint" in instruction.flags):
            return False
        return all(
            self._known.of(each) is UNIFORM or self._never_wraps(each, widening)
            for each in instruction.operands
        )

    def _address(self, pointer: ElementPointer, strides: Sequence[int], *, checked: bool) -> Shape:
        interleaved = pointer.operands[0].text in self._layout.interleaved
        scale = self._width if interleaved else 1
        layout, inside = self._function.layout, pointer.element
        total = strides[0]
        for place, (index, stride) in enumerate(
            zip(pointer.operands[1:], strides[1:], strict=True)
        ):
            if place:
                inside = layout.member(inside, index.integer or 0)[1]
            if stride and index.type != Int(64):
                return VARYING
            total += stride * layout.size(inside) * scale
        return strided(total, checked=checked)


def _stride(instruction: Instruction, strides: Sequence[int]) -> int | None:
    """Of what comes out, by the strides of what goes in; None where there is none."""
    opcode, first = instruction.opcode, strides[0]
    if opcode == "freeze" or (opcode == "trunc" and instruction.type != BOOL):
        return first
    if opcode == "select":
        return strides[1] if strides[1] == strides[2] else None
    if opcode == "sub":
        return first - strides[1]
    if opcode == "add" or (opcode == "or" and "disjoint" in instruction.flags):
        return first + strides[1]
    factor = instruction.operands[-1].integer
    if factor is None or opcode not in ("mul", "shl"):
        return None
    return first * factor if opcode == "mul" else first << factor
