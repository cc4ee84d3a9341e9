"""Value numbering: find values that are equal on all paths.

LLVM may compute an address again on each side of a branch. A phi of the two is one value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Any

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.divergence import Divergence
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    BasicBlock,
    CallInstruction,
    Compare,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Terminator,
    Value,
)
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Int, Pointer, Type

_DETAILS = ("predicate", "element", "indices", "mask")


def number_values(flow: Flow) -> Mapping[str, str]:
    """Return for each value that has an equal one before it the name of the first of them.

    A phi is equal to its operands if these have one number. Each load, call, atomic and alloca
    has a number that no other value has.
    """
    names: dict[str, str] = {}
    computed: dict[tuple[Any, ...], str] = {}

    def name_of(value: Value) -> str:
        return names.get(value.text, value.text)

    for block in flow.order:
        for each in block.instructions:
            if isinstance(each, Phi):
                found = {name_of(value) for value in each.operands if not value.is_undefined}
                if len(found) == 1:
                    names[each.result] = found.pop()
            elif each.result and not isinstance(
                each, Alloca | Atomic | CallInstruction | Memory | Terminator
            ):
                names[each.result] = computed.setdefault(
                    (*_make_key(each), *map(name_of, each.operands)), each.result
                )
    return names


def _make_key(instruction: Instruction) -> tuple[str, ...]:
    details = (str(getattr(instruction, each, "")) for each in _DETAILS)
    types = (str(each.type) for each in instruction.operands)
    # Each `freeze` of poison may give another value.
    own = instruction.result if instruction.opcode == "freeze" else ""
    return instruction.opcode, str(instruction.type), own, *details, *types


# The uniformity lattice: how a value differs from lane to lane.
#
# Uniform and constant values are affine ones in a wider sense; varying is the top.


class BasicUniformity(Enum):
    """Uniformity without parameters: all lanes have one value, or each lane has any value."""

    UNIFORM = "uniform"
    VARYING = "varying"

    def __repr__(self) -> str:
        return self.value


UNIFORM, VARYING = BasicUniformity.UNIFORM, BasicUniformity.VARYING


@dataclass(frozen=True, slots=True)
class Affine:
    """Lane k has the value of lane 0 plus k times `stride`, modulo the type; bytes for addresses.

    If `checked`, this holds only where a check at run time passes: a narrower sum may have wrapped
    before it was extended.
    """

    stride: int
    checked: bool = False

    def __repr__(self) -> str:
        return f"linear {self.stride}{'?' if self.checked else ''}"


@dataclass(frozen=True, slots=True)
class Constant:
    """Each lane has a known constant: `values[k]`, as an unsigned number."""

    values: tuple[int, ...]

    def __repr__(self) -> str:
        return f"known {', '.join(map(str, self.values))}"


Uniformity = BasicUniformity | Affine | Constant


def make_affine(stride: int, *, checked: bool = False) -> Uniformity:
    """Return an affine uniformity; UNIFORM for stride 0 without a check."""
    return Affine(stride, checked) if stride or checked else UNIFORM


def get_stride(uniformity: Uniformity) -> int | None:
    """Return the difference from a lane to the next, 0 for uniform values; None if it varies."""
    uniformity = to_affine(uniformity)
    if isinstance(uniformity, Affine):
        return uniformity.stride
    return 0 if uniformity is UNIFORM else None


def is_checked(uniformity: Uniformity) -> bool:
    """Return whether a check at run time must pass."""
    return isinstance(uniformity, Affine) and uniformity.checked


def to_affine(uniformity: Uniformity) -> Uniformity:
    """Return constants with equal differences as affine, other constants as varying."""
    if not isinstance(uniformity, Constant):
        return uniformity
    values = uniformity.values
    stride = values[1] - values[0]
    even = all(after - before == stride for before, after in pairwise(values))
    return make_affine(stride) if even else VARYING


def join(one: Uniformity, other: Uniformity) -> Uniformity:
    """Return the least upper bound of two uniformities."""
    if one == other:
        return one
    one, other = to_affine(one), to_affine(other)
    if isinstance(one, Affine) and isinstance(other, Affine) and one.stride == other.stride:
        return Affine(one.stride, one.checked or other.checked)
    return one if one == other else VARYING


# Constant folding of integer instructions whose operands are constants in each lane.

LaneConstants = tuple[int, ...]

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def to_unsigned(value: int, bits: int) -> int:
    """Return the low bits of a number as an unsigned number."""
    return value & ((1 << bits) - 1)


def to_signed(value: int, bits: int) -> int:
    """Return the low bits of a number as a signed number (two's complement)."""
    value = to_unsigned(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def fold_constants(
    instruction: Instruction, operands: Sequence[LaneConstants]
) -> LaneConstants | None:
    """Return the unsigned result of each lane from unsigned `operands`; None if it is unknown."""
    first = instruction.operands[0].type
    if isinstance(instruction, Compare) and isinstance(first, Int):
        return _fold_compare(instruction.predicate, first.bits, operands)
    if not isinstance(instruction.type, Int):
        return None
    bits = instruction.type.bits
    lanes = [
        _fold_lane(instruction.opcode, each, bits, first) for each in zip(*operands, strict=True)
    ]
    known = tuple(each for each in lanes if each is not None)
    return known if len(known) == len(lanes) else None


def _fold_lane(opcode: str, given: tuple[int, ...], bits: int, first: Type) -> int | None:
    if opcode in _ARITHMETIC:
        return to_unsigned(_ARITHMETIC[opcode](*given), bits)
    if opcode in ("shl", "lshr", "udiv", "urem"):
        return _fold_shift_or_division(opcode, *given, bits=bits)
    if opcode == "select":
        return given[1] if given[0] else given[2]
    if opcode == "sext" and isinstance(first, Int):
        return to_unsigned(to_signed(given[0], first.bits), bits)
    return to_unsigned(given[0], bits) if opcode in ("zext", "trunc", "freeze") else None


def _fold_shift_or_division(opcode: str, one: int, other: int, *, bits: int) -> int:
    """Return a result for any operands: those of inactive lanes may be out of range."""
    if opcode in ("shl", "lshr"):
        other %= bits
        return to_unsigned(one << other, bits) if opcode == "shl" else one >> other
    if other == 0:
        return 0
    return one // other if opcode == "udiv" else one % other


def _fold_compare(predicate: str, bits: int, operands: Sequence[LaneConstants]) -> LaneConstants:
    relation = _RELATIONS[predicate if predicate in _RELATIONS else predicate[1:]]
    read = to_signed if predicate.startswith("s") else to_unsigned
    return tuple(
        int(relation(read(one, bits), read(other, bits)))
        for one, other in zip(*operands, strict=True)
    )


# Uniformity analysis: how the value of each instruction differs between the lanes of a SIMD-group.
#
# An optimistic data-flow analysis in the manner of LLVM's UniformityAnalysis. Every value starts
# as unknown and only becomes more general, so that the analysis terminates. A branch whose
# condition is not uniform makes its region divergent (`divergence.py`). The lattice (`shapes.py`)
# has uniform, affine and varying values, as that of Karrenberg and Hack ("Whole-Function
# Vectorization", CGO 2011).

# Maps the uniformity of a call's operands to that of its result.
TransferFunction = Callable[[CallInstruction, Sequence[Uniformity]], Uniformity]
_MAX_ROUNDS = 200


@dataclass(frozen=True)
class PrivateLayout:
    """Layout of private memory: bytes from one lane's copy of a variable to the next lane's.

    A variable that is not in `strides` exists once for all lanes. In `interleaved` variables,
    element k of all lanes is contiguous.
    """

    strides: Mapping[str, int] = field(default_factory=dict)
    interleaved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UniformityInfo:
    """Result of the analysis: the uniformity of each value, at its definition or in a block."""

    by_name: Mapping[str, Uniformity]
    divergence: Divergence
    definitions: Mapping[str, BasicBlock]

    def get(self, value: Value, seen_from: BasicBlock | None = None) -> Uniformity:
        """Return the uniformity of a value, at its definition or as it is used in a block.

        A use after a loop with divergent exits varies (temporal divergence).
        """
        uniformity = self.by_name.get(value.text, UNIFORM)
        if seen_from is None or uniformity is VARYING or isinstance(uniformity, Constant):
            return uniformity
        defined = self.definitions.get(value.text)
        if defined is None:
            return uniformity
        return (
            VARYING if self.divergence.is_temporally_divergent(defined, seen_from) else uniformity
        )


def analyse_uniformity(
    function: Function,
    flow: Flow,
    width: int,
    transfer_functions: Mapping[str, TransferFunction],
    layout: PrivateLayout | None = None,
) -> UniformityInfo:
    """Compute the uniformity of all values of a function for `width` lanes.

    `transfer_functions` give the uniformity of the results of called functions, by name. Raise
    IrError if no fixed point is found.
    """
    return _UniformityAnalysis(
        function, flow, width, transfer_functions, layout or PrivateLayout()
    ).run()


class _UniformityAnalysis:
    def __init__(
        self,
        function: Function,
        flow: Flow,
        width: int,
        transfer_functions: Mapping[str, TransferFunction],
        layout: PrivateLayout,
    ) -> None:
        self._function = function
        self._flow = flow
        self._width = width
        self._transfer_functions = transfer_functions
        self._layout = layout
        self._divergence = Divergence(flow)
        self._uniformity: dict[str, Uniformity] = {}
        self._instructions = dict(function.definitions())
        self._blocks = {each.result: block for block, each in function.instructions if each.result}
        self._info = UniformityInfo(self._uniformity, self._divergence, self._blocks)

    def run(self) -> UniformityInfo:
        for _ in range(_MAX_ROUNDS):
            if not self._run_round() and not self._start_cycles():
                return self._info
        raise IrError(
            f"{self._function.name}: the uniformity analysis does not reach a fixed point"
        )

    def _run_round(self) -> bool:
        changed = False
        for block in self._flow.order:
            for each in block.instructions:
                if each.result:
                    changed |= self._update(each, block)
            condition = block.terminator.operands
            if len(block.successors) > 1 and self._get_uniformity(condition[0], block) not in (
                None,
                UNIFORM,
            ):
                changed |= self._divergence.add(block)
        return changed

    def _start_cycles(self) -> bool:
        """Set phis to uniform that only depend on undefined values and on themselves.

        No operand of such a phi is known otherwise, although other operands of its cycle may vary.
        Return whether there are any.
        """
        found = [
            each.result
            for block in self._flow.order
            for each in block.instructions
            if isinstance(each, Phi)
            and each.result not in self._uniformity
            and any(operand.is_undefined for operand in each.operands)
        ]
        self._uniformity.update(dict.fromkeys(found, UNIFORM))
        return bool(found)

    def _update(self, instruction: Instruction, block: BasicBlock) -> bool:
        before = self._uniformity.get(instruction.result)
        if before is VARYING:  # the top of the lattice
            return False
        found = self._transfer(instruction, block)
        if found is None or found == before:
            return False
        # Only move up the lattice.
        now = found if before is None else join(before, found)
        self._uniformity[instruction.result] = now
        return now != before

    def _get_uniformity(self, value: Value, block: BasicBlock) -> Uniformity | None:
        """Return the uniformity of an operand; None while it is unknown."""
        if value.text in self._instructions and value.text not in self._uniformity:
            return None
        return self._info.get(value, block)

    def _transfer(self, instruction: Instruction, block: BasicBlock) -> Uniformity | None:
        if isinstance(instruction, Phi):
            return self._transfer_phi(instruction, block)
        if isinstance(instruction, Alloca):
            return make_affine(self._layout.strides.get(instruction.result, 0))
        seen = [self._get_uniformity(operand, block) for operand in instruction.operands]
        inputs = [uniformity for uniformity in seen if uniformity is not None]
        if len(inputs) < len(seen):
            return None
        if (
            isinstance(instruction, CallInstruction)
            and instruction.name in self._transfer_functions
        ):
            return self._transfer_functions[instruction.name](instruction, inputs)
        if isinstance(instruction, Atomic) or inputs.count(UNIFORM) == len(inputs):
            return VARYING if isinstance(instruction, Atomic) else UNIFORM
        return self._fold(instruction, inputs) or self._transfer_affine(instruction, inputs, block)

    def _transfer_phi(self, phi: Phi, block: BasicBlock) -> Uniformity | None:
        found: Uniformity | None = None
        for value, source in zip(phi.operands, phi.sources, strict=True):
            if value.is_undefined:
                continue
            uniformity = self._get_uniformity(value, self._function.blocks[source])
            if uniformity is not None:
                # Lanes may leave a loop on this edge in different iterations.
                is_temporal = self._divergence.is_temporally_divergent(
                    self._function.blocks[source], block
                )
                if is_temporal and not isinstance(uniformity, Constant):
                    uniformity = VARYING
                found = uniformity if found is None else join(found, uniformity)
        if found is None:
            return UNIFORM if all(each.is_undefined for each in phi.operands) else None
        # Lanes arrive on different edges. A value that is equal on all edges stays uniform.
        parted = found is not VARYING and block in self._divergence.joins
        return VARYING if parted and not self._has_one_value(phi) else found

    def _has_one_value(self, phi: Phi) -> bool:
        given = (each.text for each in phi.operands if not each.is_undefined)
        return len({self._value_numbers.get(each, each) for each in given}) == 1

    @cached_property
    def _value_numbers(self) -> Mapping[str, str]:
        return number_values(self._flow)

    def _fold(self, instruction: Instruction, inputs: Sequence[Uniformity]) -> Uniformity | None:
        if not any(isinstance(uniformity, Constant) for uniformity in inputs):
            return None
        operands = [
            self._get_constants(value, uniformity)
            for value, uniformity in zip(instruction.operands, inputs, strict=True)
        ]
        known = [each for each in operands if each is not None]
        result = fold_constants(instruction, known) if len(known) == len(operands) else None
        return Constant(result) if result is not None else None

    def _get_constants(self, value: Value, uniformity: Uniformity) -> LaneConstants | None:
        if isinstance(uniformity, Constant):
            return uniformity.values
        number = value.integer
        if number is None or not isinstance(value.type, Int):
            return None
        return (to_unsigned(number, value.type.bits),) * self._width

    def _transfer_affine(
        self, instruction: Instruction, inputs: Sequence[Uniformity], block: BasicBlock
    ) -> Uniformity:
        strides = [get_stride(uniformity) for uniformity in inputs]
        checked = any(is_checked(to_affine(uniformity)) for uniformity in inputs)
        known = [each for each in strides if each is not None]
        if isinstance(instruction, ElementPointer) and len(known) == len(strides):
            return self._transfer_address(instruction, known, checked=checked)
        if instruction.opcode in ("zext", "sext") and known:
            return self._transfer_extension(instruction, known[0], block, checked=checked)
        if instruction.opcode == "select":
            known = known if inputs[0] is UNIFORM else []
        if len(known) < len(strides) or not isinstance(instruction.type, Int | Pointer):
            return VARYING
        stride = _compute_stride(instruction, known)
        return VARYING if stride is None else make_affine(stride, checked=checked)

    def _transfer_extension(
        self, instruction: Instruction, stride: int, block: BasicBlock, *, checked: bool
    ) -> Uniformity:
        operand = instruction.operands[0]
        if operand.type == BOOL or not isinstance(instruction.type, Int):
            return VARYING
        # Flags hold for active lanes only. In a masked block, lane 0 may be inactive, and its
        # value may be outside the range of the others.
        proven = block not in self._divergence.masked and self._never_wraps(operand, instruction)
        return Affine(stride, checked or not proven) if stride else UNIFORM

    def _never_wraps(self, value: Value, widening: Instruction) -> bool:
        """Return whether lane 0's value plus the stride stays within the type for every lane."""
        if "nneg" in widening.flags:
            return True
        instruction = self._instructions.get(value.text)
        if instruction is None or isinstance(instruction, CallInstruction):
            return instruction is not None
        flag = "nuw" if widening.opcode == "zext" else "nsw"
        adds = instruction.opcode in ("add", "mul", "shl") and flag in instruction.flags
        if not adds and not (instruction.opcode == "or" and "disjoint" in instruction.flags):
            return False
        return all(
            self._info.get(each) is UNIFORM or self._never_wraps(each, widening)
            for each in instruction.operands
        )

    def _transfer_address(
        self, pointer: ElementPointer, strides: Sequence[int], *, checked: bool
    ) -> Uniformity:
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
        return make_affine(total, checked=checked)


def _compute_stride(instruction: Instruction, strides: Sequence[int]) -> int | None:
    """Return the stride of a result from the strides of its operands; None if it is not affine."""
    opcode, first = instruction.opcode, strides[0]
    if opcode == "freeze" or (opcode == "trunc" and instruction.type != BOOL):
        # The stride of several values in one integer has more bits than the one that is taken.
        kind = instruction.type
        return to_signed(first, kind.bits) if isinstance(kind, Int) else first
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
