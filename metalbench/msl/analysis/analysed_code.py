"""One thread's optimised LLVM IR as the performance lints see it (performance.py).

`LocatedCode` has the places of the user's source, `AnalysedCode` also the control flow, the
uniformity and the estimated instructions of a GPU. The IR is that of `compile_for_analysis`
(msl/toolchain/analysis_ir.py).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.bounds_guards import BoundsGuards
from metalbench.msl.analysis.control_flow import Flow, NaturalLoop
from metalbench.msl.analysis.private_memory import ASSUME_LIKE
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Constant,
    UniformityInfo,
    get_stride,
)
from metalbench.msl.ir.model import (
    Alloca,
    BasicBlock,
    CallInstruction,
    Compare,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.ir.places import Metadata, is_own
from metalbench.msl.ir.types import Layout, Vector

# Bytes of the widest load or store.
LARGEST_ACCESS = 16
# Names of functions of the IR: mathematical ones, and where threadgroup memory begins.
OPAQUE = "mb_opaque_"
ARENA = "mb_vector_arena"
# Instructions of a mathematical function.
_FUNCTION_COST = 4
# Opaque functions of matrices. A product is one instruction (github.com/dougallj/applegpu,
# applegpu.py, `simd_matrix_fmadd32` of 8 bytes). A lane's two elements are neighbours in memory, or
# a stride apart in a transposed matrix.
_PRODUCT, _READ, _WRITE = (f"{OPAQUE}matrix_{name}." for name in ("product", "read", "write"))
_LINEAR = ("add", "sub", "or", "zext", "sext", "trunc", "freeze", "getelementptr", "phi", "select")
# Instructions that are part of another one on a GPU: of its address, its operand or its type.
_FREE = (
    *("getelementptr", "zext", "sext", "trunc", "bitcast", "freeze", "ptrtoint", "inttoptr"),
    *("extractelement", "extractvalue", "insertelement", "insertvalue", "shufflevector", "phi"),
)

# A file and line, and those of the calls that it was inlined at, innermost first.
Places = tuple[tuple[str, int], ...]


class LocatedCode:
    """A function with the places of its instructions in the user's source."""

    def __init__(self, function: Function, metadata: Metadata) -> None:
        self.function = function
        self.metadata = metadata
        self.layout: Layout = function.layout
        self.definitions = function.definitions()

    def locate(self, instruction: Instruction) -> tuple[str, int] | None:
        """Return the user's file and line of an instruction; None if it has no place."""
        place = instruction.place
        if not place or place not in self.metadata:
            return None
        node, line = self.metadata.locate_for_user(place)
        file = self.metadata.file_name(node)
        return (file, line) if line and not is_own(file) else None

    def locate_calls(self, instruction: Instruction) -> Places:
        """Return the user's file and line of an instruction, and those of the calls to it."""
        found = []
        place = instruction.place
        while place and (location := self.metadata.location(place)) is not None:
            file = self.metadata.file_of(location.scope)
            if location.line and not is_own(file):
                found.append((file, location.line))
            place = location.inlined_at
        return tuple(found)

    def find_header(self, instruction: Instruction) -> str:
        """Return the MSL header that an instruction is written in; "" for the user's source."""
        place = instruction.place
        if not place or place not in self.metadata:
            return ""
        file = self.metadata.file_containing(place)
        return file if is_own(file) else ""

    def find_root(self, address: Value) -> Value:
        """Return the pointer that an address is computed from by adding offsets."""
        for _ in range(len(self.definitions)):
            made = self.definitions.get(address.text)
            if isinstance(made, ElementPointer) or (made is not None and made.opcode == "freeze"):
                address = made.operands[0]
            elif isinstance(made, Phi):
                # A pointer that a loop moves.
                starts = [each for each in made.operands if not self._is_derived(each, made)]
                if len(starts) != 1:
                    return address
                (address,) = starts
            else:
                break
        return address

    def _is_derived(self, value: Value, phi: Phi) -> bool:
        made = self.definitions.get(value.text)
        while isinstance(made, ElementPointer):
            value = made.operands[0]
            made = self.definitions.get(value.text)
        return value.text == phi.result or value.is_undefined

    def is_threadgroup(self, address: Value) -> bool:
        """Return whether an address is in threadgroup memory."""
        made = self.definitions.get(self.find_root(address).text)
        return isinstance(made, CallInstruction) and made.name == ARENA

    def is_private(self, address: Value) -> bool:
        """Return whether an address is in a variable of a thread, or in a table of constants."""
        root = self.find_root(address)
        return not root.is_local or isinstance(self.definitions.get(root.text), Alloca)


class AnalysedCode(LocatedCode):
    """A function with its control flow, and the uniformity of its values."""

    def __init__(
        self, function: Function, metadata: Metadata, flow: Flow, uniformity: UniformityInfo
    ) -> None:
        super().__init__(function, metadata)
        self.flow = flow
        self.uniformity = uniformity
        self._guards = BoundsGuards(function, flow, uniformity, SIMD_WIDTH)

    def is_bounds_guard(self, branch: BasicBlock) -> bool:
        """Return whether a branch compares positions with a size: few SIMD-groups diverge there."""
        condition = branch.terminator.operands[0]
        made = self.definitions.get(condition.text)
        if isinstance(made, Compare) and made.predicate in ("eq", "ne"):
            return False
        is_known = isinstance(self.uniformity.get(condition), Constant)
        return not is_known and self._guards.is_bounds_guard(branch)

    def is_choice_of_uniform_branches(self, branch: BasicBlock) -> bool:
        """Return whether a condition is a uniform value for each side of earlier uniform branches.

        LLVM replaces a condition by a phi of constants where it has tested it before. The phi is
        uniform if no divergent branch leads to two of its values.
        """
        made = self.definitions.get(branch.terminator.operands[0].text)
        if not isinstance(made, Phi):
            return False
        blocks = {each.name: each for each in self.flow.order}
        values = {
            source: value
            for value, source in zip(made.operands, made.sources, strict=True)
            if not value.is_undefined
        }
        if any(
            self.uniformity.get(value, blocks[source]) is not UNIFORM
            for source, value in values.items()
        ):
            return False
        tested = {value.text for value in values.values() if value.is_local}
        names = {
            source: self._find_tested_value(blocks[source], value, tested)
            for source, value in values.items()
        }
        block = next(each for each in self.flow.order if made in each.instructions)
        for region in self.uniformity.divergence.regions.values():
            if block is region.join or block in region.blocks:
                sources = {each.name for each in (*region.blocks, region.branch)}
                if len({name for source, name in names.items() if source in sources}) > 1:
                    return False
        return True

    def _find_tested_value(self, block: BasicBlock, value: Value, tested: Collection[str]) -> str:
        """Return which of the `tested` values a constant is in a block, or the value itself.

        Only the side of a branch for which the tested value is the constant leads to the block.
        """
        for each in self.flow.order:
            if each.terminator.opcode != "br" or len(each.successors) < 2 or value.is_local:
                continue
            condition = each.terminator.operands[0].text
            side = each.successors[0 if value.integer else 1]
            is_only_way = side.predecessors == [each] and self.flow.dominates(side, block)
            if condition in tested and is_only_way:
                return condition
        return value.text

    @cached_property
    def tails(self) -> frozenset[BasicBlock]:
        """Blocks for the last elements of an array, which a few threads of a grid run."""
        starts = {
            target
            for branch in self.uniformity.divergence.regions
            if self.is_bounds_guard(branch)
            for target in branch.successors
            if all(
                before is branch or self.flow.dominates(target, before)
                for before in target.predecessors
            )
            and self._guards.is_never_unanimous(branch, target)
        }
        return frozenset(
            block
            for block in self.flow.order
            if any(self.flow.dominates(start, block) for start in starts)
        )

    def find_loop(self, block: BasicBlock) -> NaturalLoop | None:
        """Return the innermost loop that a block is in."""
        return self.flow.loop_of.get(block)

    def cost(self, block: BasicBlock) -> int:
        """Return the estimated instructions of a GPU for a block."""
        return sum(map(self.count, block.instructions))

    def count(self, instruction: Instruction) -> int:
        """Return the estimated instructions of a GPU for one of LLVM."""
        if _is_free(instruction):
            return 0
        if isinstance(instruction, CallInstruction):
            return _count_call(instruction)
        if isinstance(instruction, Memory):
            count = max(1, -(-self.layout.size(instruction.accessed) // LARGEST_ACCESS))
            # A wait follows a load.
            return count + (instruction.opcode == "load")
        return instruction.type.count if isinstance(instruction.type, Vector) else 1

    @cached_property
    def scaled(self) -> frozenset[str]:
        """Values that differ from a thread to the next by a multiple of a run-time value."""
        found: set[str] = set()
        before = -1
        while before != len(found):
            before = len(found)
            for block in self.flow.order:
                for each in block.instructions:
                    if each.result and each.result not in found and self._is_scaled(each, found):
                        found.add(each.result)
        return frozenset(found)

    def _is_scaled(self, instruction: Instruction, found: Collection[str]) -> bool:
        value = Value(instruction.type, instruction.result)
        if self.uniformity.get(value) is not VARYING:
            return False
        operands = instruction.operands
        if instruction.opcode == "mul":
            factors = [(one, other) for one, other in (operands, operands[::-1])]
            return any(
                self._is_along(one, found)
                and other.is_local
                and self.uniformity.get(other) is UNIFORM
                for one, other in factors
            )
        if instruction.opcode not in _LINEAR and not _is_shift(instruction):
            return False
        if isinstance(instruction, Phi):
            # An operand of a loop is not known at first.
            return any(each.text in found for each in operands)
        return any(each.text in found for each in operands) and all(
            each.text in found or get_stride(self.uniformity.get(each)) is not None
            for each in operands
        )

    def _is_along(self, value: Value, found: Collection[str]) -> bool:
        """Return whether a value differs by the same number from each thread to the next."""
        return value.text in found or bool(get_stride(self.uniformity.get(value)))


def _count_call(call: CallInstruction) -> int:
    if call.name.startswith((_READ, _WRITE)):
        accesses = 1 if call.operands[-1].integer == 0 else 2
        # A wait follows a load.
        return 2 * accesses if call.name.startswith(_READ) else accesses
    is_function = call.name.startswith(OPAQUE) and not call.name.startswith(_PRODUCT)
    return _FUNCTION_COST if is_function else 1


def _is_free(instruction: Instruction) -> bool:
    """Return whether a GPU needs no instruction for one of LLVM."""
    if isinstance(instruction, CallInstruction):
        return instruction.name.startswith(ASSUME_LIKE) or _is_position(instruction)
    is_jump = instruction.opcode == "br" and not instruction.operands
    return is_jump or instruction.opcode in (*_FREE, "alloca")


def _is_shift(instruction: Instruction) -> bool:
    return instruction.opcode == "shl" and not instruction.operands[1].is_local


def _is_position(call: CallInstruction) -> bool:
    """Return whether a call only returns a position of the thread, or where memory begins."""
    positions = ("lane", "index", "x", "y", "z", "simdgroup", "arena")
    return call.name.removeprefix("mb_vector_") in positions
