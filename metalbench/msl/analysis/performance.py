"""Find code of one thread that is slow on Apple's GPUs, in its optimised LLVM IR.

The IR is that of `compile_for_analysis` (msl/toolchain/analysis_ir.py). Each finding has a rule, a
line of the source and a message with figures. The neighbour of a thread is the next one along x,
as in a threadgroup whose first extent is a multiple of the SIMD width.

Register steps are from Mesa's driver for Apple's GPUs (src/asahi/compiler/agx_performance.c, table
`occupancies`), which was measured on the M1: the registers of a thread in 16-bit units, and the
threads of a core. From the M3 on, registers are assigned while a kernel runs, and the steps are
finer. Apple publishes neither the banks of threadgroup memory nor the size of the instruction cache
or of an instruction: BANKS, CODE_BYTES and INSTRUCTION_BYTES are assumptions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from metalbench.msl.analysis.bounds_guards import BoundsGuards
from metalbench.msl.analysis.control_flow import Flow, NaturalLoop, flow_of
from metalbench.msl.analysis.private_memory import ASSUME_LIKE, analyse_private_memory
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Constant,
    TransferFunction,
    UniformityInfo,
    get_stride,
)
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    BasicBlock,
    CallInstruction,
    Compare,
    DebugRecord,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Part,
    Phi,
    Shuffle,
    Value,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import Metadata, SourceVariable, is_own
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import (
    ArrayType,
    Float,
    Int,
    Layout,
    Named,
    Pointer,
    Struct,
    Type,
    Vector,
)

SIMD_WIDTH = 32
# Registers of 16 bits of a thread, and the threads of a core that they leave room for.
OCCUPANCY_STEPS = (
    *((104, 1024), (112, 896), (128, 832), (136, 768), (144, 704)),
    *((160, 640), (184, 576), (208, 512), (232, 448), (256, 384)),
)
# Banks of threadgroup memory, of 4 bytes each, as on NVIDIA's GPUs.
BANKS, BANK_BYTES = 32, 4
# Conflicts of fewer threads are not reported, as the banks are an assumption.
LEAST_CONFLICT = 4
# The instruction cache, and the size of most instructions: 2 to 10 bytes in Mesa's agx_opcodes.py.
CODE_BYTES, INSTRUCTION_BYTES = 12 << 10, 8
# Threadgroup memory of a core that is certain: the limit of one threadgroup.
THREADGROUP_BYTES = 32 << 10
# Up to this distance between threads, accesses to most of the bytes waste no memory transaction.
_DENSE_BYTES = 32
# Instructions of a mathematical function.
_FUNCTION_COST = 4
# Bytes of the widest load or store.
_LARGEST_ACCESS = 16
# 16-bit units of an address in threadgroup memory (applegpu: the operands of threadgroup loads).
_THREADGROUP_ADDRESS = 1
# Smaller private variables are not reported.
_LEAST_PRIVATE = 8
# Instructions of each side of a branch from which the sides do work.
_LEAST_WORK = 3
_OPAQUE = "mb_opaque_"
_ARENA = "mb_vector_arena"
_STORAGE = "mb_threadgroup"
_TEXTURES = ("texture", "texel", "sampler")
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_LINEAR = ("add", "sub", "or", "zext", "sext", "trunc", "freeze", "getelementptr", "phi", "select")
_WIDE = ("add", "sub", "mul", "shl", *_DIVISIONS)
# Instructions that are part of another one on a GPU: of its address, its operand or its type.
_FREE = (
    *("getelementptr", "zext", "sext", "trunc", "bitcast", "freeze", "ptrtoint", "inttoptr"),
    *("extractelement", "extractvalue", "insertelement", "insertvalue", "shufflevector", "phi"),
)
_ALIASES = (
    *("getelementptr", "zext", "sext", "trunc", "bitcast", "freeze", "inttoptr", "ptrtoint"),
    *("extractelement", "extractvalue"),
)


# A file and line, and those of the calls that it was inlined at, innermost first.
Places = tuple[tuple[str, int], ...]


class PerformanceFinding(NamedTuple):
    """A slow place of a kernel: the rule, the file and line of the source, and the figures.

    `callers` are the files and lines of the calls that lead to it, if the rule knows them.
    """

    rule: str
    file: str
    line: int
    message: str
    callers: Places = ()


class PerformanceReport(NamedTuple):
    """The findings of a kernel by line, its estimated registers of 32 bits and instructions.

    `reason` says why only some rules were applied; it is empty if all were.
    """

    findings: list[PerformanceFinding]
    registers: int
    instructions: int
    threadgroup_bytes: int
    reason: str = ""


def analyse_performance(
    module: Module,
    function: Function,
    transfer_functions: Mapping[str, TransferFunction],
    precise_lines: Collection[tuple[str, int]] = (),
) -> PerformanceReport:
    """Return the findings of a kernel for Apple's GPUs; the function is read completely.

    `precise_lines` are the files and lines that call functions of `precise::`. Raise IrError.
    """
    metadata = module.metadata
    variables = {
        each.address: found
        for _, each in function.instructions
        if isinstance(each, DebugRecord) and each.address
        if (found := metadata.variable(each.variable)) is not None
    }
    function = read_function(function)
    code = _Code(function, metadata)
    findings = [*_find_thread_arrays(code, variables)]
    threadgroup_bytes = _measure_threadgroup_memory(module, findings)
    registers = instructions = 0
    reason = ""
    try:
        flow = flow_of(function)
        analysis = analyse_private_memory(function, flow, SIMD_WIDTH, transfer_functions)
        analysed = _AnalysedCode(function, metadata, flow, analysis.uniformity)
        findings += _find_strides(analysed)
        findings += _find_divergent_branches(analysed)
        findings += _find_slow_operations(analysed, frozenset(precise_lines))
        findings += _find_large_code(analysed)
        registers, pressed = _find_registers(analysed)
        findings += pressed
        instructions = sum(map(analysed.cost, flow.order))
    except IrError as error:
        reason = str(error)
    unique = dict.fromkeys(findings)
    ordered = sorted(unique, key=lambda each: (each.file, each.line, each.rule))
    return PerformanceReport(ordered, registers, instructions, threadgroup_bytes, reason)


class _Code:
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
        return isinstance(made, CallInstruction) and made.name == _ARENA

    def is_private(self, address: Value) -> bool:
        """Return whether an address is in a variable of a thread, or in a table of constants."""
        root = self.find_root(address)
        return not root.is_local or isinstance(self.definitions.get(root.text), Alloca)


class _AnalysedCode(_Code):
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
            return _FUNCTION_COST if instruction.name.startswith(_OPAQUE) else 1
        if isinstance(instruction, Memory):
            count = max(1, -(-self.layout.size(instruction.accessed) // _LARGEST_ACCESS))
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


# thread-array: variables of a thread that LLVM could not keep in registers.


def _find_thread_arrays(
    code: _Code, variables: Mapping[str, SourceVariable]
) -> Iterator[PerformanceFinding]:
    sizes: dict[tuple[str, int, str], int] = {}
    indexed: dict[tuple[str, int, str], tuple[str, int]] = {}
    for _, each in code.function.instructions:
        if not isinstance(each, Alloca) or not _is_aggregate(each.allocated):
            continue
        accesses, subscripts = _list_accesses(code, each.result)
        # A compiler for a GPU has each element of such a variable in a register. LLVM keeps some in
        # memory because the calling convention of the processor combines elements.
        if not subscripts and all(isinstance(one, Memory) for one in accesses):
            continue
        places = [place for place in map(code.locate, accesses) if place is not None]
        variable = variables.get(each.result)
        if not places:
            continue
        if variable is not None and not is_own(variable.file):
            key = variable.file, variable.line, variable.name
        else:
            key = (*places[0], "")
        sizes[key] = sizes.get(key, 0) + code.layout.size(each.allocated)
        place = next((code.locate(one) for one in subscripts if code.locate(one)), None)
        if place is not None:
            indexed.setdefault(key, place)
    for key, size in sizes.items():
        file, line, name = key
        if size > _LEAST_PRIVATE:
            message = (
                f"{f'`{name}`' if name else 'a temporary'} stays in thread memory: {size} B per "
                "thread, not in registers"
            )
            if key in indexed:
                other, at = indexed[key]
                where = f"line {at}" if other == file else f"{Path(other).name}:{at}"
                message += f"; its index in {where} is not a constant"
            yield PerformanceFinding("thread-array", file, line, message)


def _is_aggregate(type_: Type) -> bool:
    return isinstance(type_, ArrayType | Struct | Named | Vector)


def _list_accesses(code: _Code, variable: str) -> tuple[list[Instruction], list[Instruction]]:
    """Return the instructions that access a variable, and those with an index among them."""
    addresses = {variable}
    indexed: set[str] = set()
    subscripts: list[Instruction] = []
    accesses: list[Instruction] = []
    for _, each in code.function.instructions:
        names = {operand.text for operand in each.operands} & addresses
        if not names or (isinstance(each, CallInstruction) and each.name.startswith(ASSUME_LIKE)):
            continue
        is_indexed = bool(names & indexed)
        if isinstance(each, ElementPointer):
            addresses.add(each.result)
            is_indexed = is_indexed or any(index.is_local for index in each.operands[1:])
            if is_indexed:
                indexed.add(each.result)
        elif each.opcode == "select":
            # Only without address spaces may LLVM select between this variable and device memory.
            addresses.add(each.result)
        else:
            accesses.append(each)
        if is_indexed:
            subscripts.append(each)
    return accesses, subscripts


# threadgroup-memory: static threadgroup memory that leaves room for one threadgroup.


def _measure_threadgroup_memory(module: Module, findings: list[PerformanceFinding]) -> int:
    """Return the bytes of static threadgroup memory; add a finding if they limit residency."""
    sizes: dict[SourceVariable, int] = {}
    for each in module.globals.values():
        if each.section == _STORAGE:
            variable = module.metadata.variable(each.description)
            if variable is not None:
                sizes[variable] = sizes.get(variable, 0) + module.layout.size(each.type)
    total = sum(sizes.values())
    if 2 * total > THREADGROUP_BYTES:
        largest = max(sizes, key=lambda each: sizes[each])
        message = (
            f"{total} B of threadgroup memory, more than half of {THREADGROUP_BYTES} B; the "
            f"largest variable has {sizes[largest]} B"
        )
        found = PerformanceFinding("threadgroup-memory", largest.file, largest.line, message)
        findings.append(found)
    return total


# strided-access and bank-conflict: what neighbouring threads access.


class _Access(NamedTuple):
    instruction: Memory
    size: int
    offset: int


class _AccessGroup(NamedTuple):
    """Loads, or stores, that differ from each other by a constant number of bytes only."""

    is_threadgroup: bool
    distance: int  # bytes between neighbouring threads
    opcode: str
    terms: tuple[object, ...]


def _find_strides(code: _AnalysedCode) -> Iterator[PerformanceFinding]:
    groups: dict[_AccessGroup, list[_Access]] = {}
    for block in code.flow.order:
        for each in () if block in code.tails else block.instructions:
            if not isinstance(each, Memory) or code.is_private(each.address):
                continue
            stride = get_stride(code.uniformity.get(each.address, block))
            size = code.layout.size(each.accessed)
            is_threadgroup = code.is_threadgroup(each.address)
            if stride:
                terms, offset = _split_address(code, each.address)
                key = _AccessGroup(is_threadgroup, abs(stride), each.opcode, terms)
                groups.setdefault(key, []).append(_Access(each, size, offset))
            elif each.address.text in code.scaled and not is_threadgroup:
                yield from _report(
                    code,
                    "strided-access",
                    each,
                    f"neighbouring threads {_verb(each)} {size} B at a distance that is known at "
                    "run time only",
                )
    for group, accesses in groups.items():
        # What a thread accesses in several instructions may be one vector.
        bytes_ = {
            (access.offset + byte) % group.distance
            for access in accesses
            for byte in range(access.size)
        }
        find = _describe_bank_conflict if group.is_threadgroup else _describe_stride
        message = find(_verb(accesses[0].instruction), group.distance, len(bytes_))
        if message:
            rule = "bank-conflict" if group.is_threadgroup else "strided-access"
            for access in accesses:
                yield from _report(code, rule, access.instruction, message)


def _describe_stride(verb: str, distance: int, covered: int) -> str:
    """Return a message about accesses to device memory; "" if they use most bytes of a line."""
    if distance <= _DENSE_BYTES and 2 * covered > distance:
        return ""
    return f"neighbouring threads {verb} {covered} B at a distance of {distance} B"


def _describe_bank_conflict(verb: str, distance: int, covered: int) -> str:
    """Return a message about accesses to threadgroup memory; "" if the banks serve them."""
    if distance % BANK_BYTES:
        return ""
    # A wide access takes as many steps as it has words.
    words = max(1, min(covered, _LARGEST_ACCESS) // BANK_BYTES)
    conflict = math.gcd(distance // BANK_BYTES, BANKS) // words
    if conflict < LEAST_CONFLICT:
        return ""
    return (
        f"neighbouring threads {verb} threadgroup memory at a distance of {distance} B: "
        f"{conflict} of {SIMD_WIDTH} threads use the same of {BANKS} banks"
    )


def _verb(access: Memory) -> str:
    return "read" if access.opcode == "load" else "write"


def _report(
    code: _Code, rule: str, instruction: Instruction, message: str
) -> Iterator[PerformanceFinding]:
    place = code.locate(instruction)
    if place is not None:
        yield PerformanceFinding(rule, *place, message)


def _split_address(code: _Code, address: Value) -> tuple[tuple[object, ...], int]:
    """Return an address as terms that are not constant, and a constant number of bytes."""
    terms: list[tuple[str, int]] = []
    offset = 0
    made = code.definitions.get(address.text)
    while isinstance(made, ElementPointer):
        inside = made.element
        for at, index in enumerate(made.operands[1:]):
            if at:
                if not isinstance(inside, ArrayType | Vector):
                    more, inside = code.layout.member(inside, index.integer or 0)
                    offset += more
                    continue
                inside = inside.element
            scale = code.layout.size(inside)
            name, number = _split_index(code, index)
            offset += number * scale
            if name:
                terms.append((name, scale))
        address = made.operands[0]
        made = code.definitions.get(address.text)
    return (address.text, *sorted(terms)), offset


def _split_index(code: _Code, value: Value) -> tuple[str, int]:
    """Return an index as a value, empty for none, and a constant number."""
    number = 0
    while value.is_local:
        made = code.definitions.get(value.text)
        if made is None:
            break
        constant = made.operands[-1].integer if len(made.operands) == 2 else None
        is_sum = made.opcode == "add" or (made.opcode == "or" and "disjoint" in made.flags)
        if is_sum and constant is not None:
            number += constant
        elif made.opcode not in ("zext", "sext"):
            break
        value = made.operands[0]
    constant = value.integer
    return (value.text, number) if constant is None else ("", number + constant)


# divergent-branch: both sides of a branch in a loop, one after the other.


def _find_divergent_branches(code: _AnalysedCode) -> Iterator[PerformanceFinding]:
    for branch, region in code.uniformity.divergence.regions.items():
        loop = code.find_loop(branch)
        if loop is None or region.join not in loop.blocks or code.find_header(branch.terminator):
            continue
        if code.is_bounds_guard(branch):
            continue
        sides = [_find_side(each, region.blocks) for each in branch.successors]
        if len(sides) != 2 or not all(side <= loop.blocks for side in sides):
            continue
        first, second = (sum(map(code.cost, one - other)) for one, other in (sides, sides[::-1]))
        if min(first, second) >= _LEAST_WORK:
            yield from _report(
                code,
                "divergent-branch",
                branch.terminator,
                f"threads of a SIMD-group may take both sides, of about {first} and {second} "
                "instructions, in each iteration of the loop",
            )


def _find_side(start: BasicBlock, region: Collection[BasicBlock]) -> set[BasicBlock]:
    """Return the blocks of a region that are reached from one of its entries."""
    found: set[BasicBlock] = set()
    work = [start]
    while work:
        block = work.pop()
        if block in region and block not in found:
            found.add(block)
            work += block.successors
    return found


# integer-division, precise-function and wide-address: slow operations in loops.


def _find_slow_operations(
    code: _AnalysedCode, precise_lines: Collection[tuple[str, int]]
) -> Iterator[PerformanceFinding]:
    indices = _find_indices(code)
    for block in code.flow.order:
        if code.find_loop(block) is None:
            continue
        for each in block.instructions:
            if each.opcode in _DIVISIONS and each.operands[1].is_local:
                header = code.find_header(each)
                if not any(word in header for word in _TEXTURES):
                    what = "remainder" if each.opcode.endswith("rem") else "division"
                    yield from _report(
                        code,
                        "integer-division",
                        each,
                        f"{what} of {each.type} by a value that is known at run time only, in "
                        "each iteration of the loop",
                    )
            elif isinstance(each, CallInstruction) and each.name.startswith(_OPAQUE):
                name = each.name.removeprefix(_OPAQUE).partition(".")[0]
                if code.locate(each) in precise_lines:
                    message = f"precise::{name} in each iteration of the loop"
                    yield from _report(code, "precise-function", each, message)
            elif each.result in indices and not code.find_header(each):
                yield from _report(
                    code,
                    "wide-address",
                    each,
                    f"{_WORDS.get(each.opcode, 'division')} of 64-bit indices in each "
                    "iteration of the loop",
                )


_WORDS = {"mul": "product", "shl": "multiple"}


def _find_indices(code: _AnalysedCode) -> set[str]:
    """Return the 64-bit results of slow arithmetic that indices of addresses are computed from.

    A sum, and a product of two values of 32 bits, is one instruction on Apple's GPUs (Mesa's
    driver, `src/asahi/compiler/agx_compile.h`: all other 64-bit arithmetic is lowered).
    """
    found: set[str] = set()
    work = [
        operand
        for block in code.flow.order
        for each in block.instructions
        if isinstance(each, ElementPointer)
        for operand in each.operands[1:]
    ]
    seen: set[str] = set()
    while work:
        value = work.pop()
        made = code.definitions.get(value.text)
        if made is None or value.text in seen or made.type != Int(64):
            continue
        seen.add(value.text)
        is_product = made.opcode in {"mul", "shl"}
        if made.opcode in _DIVISIONS or (
            is_product and not all(_fits_32_bits(code, each) for each in made.operands)
        ):
            found.add(made.result)
        if made.opcode in _WIDE or isinstance(made, Phi):
            work += made.operands
    return found


def _fits_32_bits(code: _AnalysedCode, value: Value) -> bool:
    """Return whether a 64-bit value is a small constant, or was extended from 32 bits or fewer."""
    made = code.definitions.get(value.text)
    if made is None:
        return value.text.isdecimal() and int(value.text) < 1 << 32
    return made.opcode in {"zext", "sext"}


# instruction-footprint: loops whose code does not fit into the instruction cache.


def _find_large_code(code: _AnalysedCode) -> Iterator[PerformanceFinding]:
    reported: set[BasicBlock] = set()
    for loop in code.flow.loops:  # inner ones first
        if loop.blocks & reported:
            continue
        count = sum(map(code.cost, loop.blocks))
        if count * INSTRUCTION_BYTES > CODE_BYTES:
            reported |= loop.blocks
            yield from _report_large_code(code, loop.blocks, count, "a loop")
    # Code that runs once is fetched once for each SIMD-group, unless they share it in the cache.
    once = [block for block in code.flow.order if code.find_loop(block) is None]
    count = sum(map(code.cost, once))
    if count * INSTRUCTION_BYTES > CODE_BYTES:
        yield from _report_large_code(code, once, count, "the code outside of loops")


def _report_large_code(
    code: _AnalysedCode, blocks: Collection[BasicBlock], count: int, what: str
) -> Iterator[PerformanceFinding]:
    """Report the line that has most of the instructions."""
    lines: Counter[Places] = Counter()
    for block in blocks:
        for each in block.instructions:
            places = code.locate_calls(each)
            if places:
                lines[places] += code.count(each)
    if lines:
        places, own = _find_main_line(lines)
        message = (
            f"{what} has about {count} instructions, {count * INSTRUCTION_BYTES >> 10} KiB, more "
            f"than the instruction cache of about {CODE_BYTES >> 10} KiB; {own} are of this line"
        )
        yield PerformanceFinding("instruction-footprint", *places[0], message, places[1:])


def _find_main_line(weights: Mapping[Places, int]) -> tuple[Places, int]:
    """Return the line with the largest weight, with its most important calls, and that weight."""
    lines: Counter[tuple[str, int]] = Counter()
    for places, weight in weights.items():
        lines[places[0]] += weight
    ((line, own),) = lines.most_common(1)
    calls = {places: weight for places, weight in weights.items() if places[0] == line}
    return max(calls, key=lambda each: calls[each]), own


# registers: the largest number of values that are live at once.


def _find_registers(code: _AnalysedCode) -> tuple[int, list[PerformanceFinding]]:
    """Return the estimated registers of 32 bits of a thread, and a finding if they are many."""
    halves, live = _measure_pressure(code)
    registers = -(-halves // 2)
    most_halves, most_threads = OCCUPANCY_STEPS[0]
    if halves <= most_halves:
        return registers, []
    threads = next((threads for most, threads in OCCUPANCY_STEPS if halves <= most), None)
    effect = (
        f"a core runs about {threads} threads instead of {most_threads}"
        if threads is not None
        else f"more than the {OCCUPANCY_STEPS[-1][0] // 2} that a thread can have, so some are "
        "spilled to memory"
    )
    places = _locate_registers(code, live)
    if not places:
        return registers, []
    place, own = _find_main_line(places)
    message = (
        f"about {registers} registers of 32 bits are live at once: {effect}; {-(-own // 2)} of "
        "them hold results of this line"
    )
    return registers, [PerformanceFinding("registers", *place[0], message, place[1:])]


def _measure_pressure(code: _AnalysedCode) -> tuple[int, dict[str, int]]:
    """Return the largest number of live 16-bit units, and those of each value that is live then."""
    values = _assign_registers(code)
    order = code.flow.order
    live_out = _find_live_out(order, values)
    most, at = 0, frozenset[Register]()
    for block in order:
        live = set(live_out[block])
        pressure = sum(values.weights[each] for each in live)
        for each in reversed(block.instructions):
            written = values.list_results(each) & live
            live -= written
            pressure -= sum(values.weights[one] for one in written)
            fresh = values.list_uses(each) - live
            live |= fresh
            pressure += sum(values.weights[one] for one in fresh)
            if pressure > most and code.locate(each) is not None:
                most, at = pressure, frozenset(live)
    found: dict[str, int] = {}
    for name, element in sorted(at):
        found[name] = found.get(name, 0) + values.weights[name, element]
    return most, found


def _locate_registers(code: _AnalysedCode, live: Mapping[str, int]) -> Counter[Places]:
    """Return the lines that compute these values, with the calls they are inlined at.

    A value that a loop carries is of the lines that compute it in the loop.
    """
    found: Counter[Places] = Counter()
    for name, halves in live.items():
        # A line that is inlined at several calls counts once for a value.
        by_line = {places[0]: places for places in sorted(_find_origins(code, name))}
        for places in by_line.values():
            found[places] += halves
    return found


def _find_origins(code: _AnalysedCode, name: str) -> set[Places]:
    """Return the lines that compute a value, by way of phis and of instructions without a place."""
    found: set[Places] = set()
    seen = {name}
    work = [name]
    while work:
        made = code.definitions.get(work.pop())
        if made is None:
            continue
        place = () if isinstance(made, Phi) else code.locate_calls(made)
        if place:
            found.add(place)
        elif isinstance(made, Phi) or made.opcode in _ALIASES:
            fresh = [each.text for each in made.operands if each.text not in seen]
            seen.update(fresh)
            work += fresh
    return found


# An element of a value: a vector or a struct has a register for each element.
Register = tuple[str, int]


@dataclass(frozen=True)
class _RegisterValues:
    """The 16-bit units of each register, and the registers of the elements of each value."""

    weights: dict[Register, int]
    elements: dict[str, tuple[frozenset[Register], ...]]

    def find_elements(self, value: Value, count: int) -> tuple[frozenset[Register], ...]:
        """Return the registers of each element of an operand, none for a constant."""
        return self.elements.get(value.text, (frozenset(),) * count)

    def find_all(self, values: Iterable[Value]) -> frozenset[Register]:
        """Return the registers of values."""
        found = (each for value in values for each in self.elements.get(value.text, ()))
        return frozenset().union(*found)

    def list_results(self, instruction: Instruction) -> frozenset[Register]:
        """Return the registers that an instruction writes."""
        count = len(self.elements.get(instruction.result, ()))
        each = ((instruction.result, element) for element in range(count))
        return frozenset(one for one in each if one in self.weights)

    def list_uses(self, instruction: Instruction) -> frozenset[Register]:
        """Return the registers that an instruction reads; a phi reads them earlier."""
        is_note = isinstance(instruction, CallInstruction) and instruction.name.startswith(
            ASSUME_LIKE
        )
        is_alias = instruction.result and (instruction.result, 0) not in self.weights
        if isinstance(instruction, Phi) or is_note or is_alias:
            return frozenset()
        return self.find_all(instruction.operands)

    def list_phi_uses(self, block: BasicBlock) -> frozenset[Register]:
        """Return the registers that the phis of the next blocks take from a block."""
        return self.find_all(
            operand
            for after in block.successors
            for phi in after.phis
            for operand, source in zip(phi.operands, phi.sources, strict=True)
            if source == block.name
        )


def _find_live_out(
    order: Sequence[BasicBlock], values: _RegisterValues
) -> dict[BasicBlock, frozenset[Register]]:
    """Return the registers that are live at the end of each block."""
    uses: dict[BasicBlock, set[Register]] = {}
    definitions: dict[BasicBlock, set[Register]] = {}
    for block in order:
        used, defined = set[Register](), set[Register]()
        for each in block.instructions:
            used |= values.list_uses(each) - defined
            defined |= values.list_results(each)
        uses[block], definitions[block] = used, defined
    live_in: dict[BasicBlock, frozenset[Register]] = dict.fromkeys(order, frozenset())
    live_out = {block: values.list_phi_uses(block) for block in order}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            for after in block.successors:
                live_out[block] |= live_in[after]
            now = frozenset(uses[block] | (live_out[block] - definitions[block]))
            if now != live_in[block]:
                live_in[block] = now
                changed = True
    return live_out


def _assign_registers(code: _AnalysedCode) -> _RegisterValues:
    """Return the registers of values, as a compiler for a GPU assigns them.

    Vectors and structs are a register for each element, so an instruction that only takes or moves
    elements has none. A value that is the same for all threads and computed from arguments at the
    begin of the kernel has none either: Apple's GPUs keep it in uniform registers.
    """
    values = _RegisterValues({}, {})
    uniform = {each.text for each in code.function.parameters}
    for block in code.flow.order:
        for each in block.instructions:
            if not each.result or isinstance(each, Alloca):
                continue
            parts = _flatten(each.type, code.layout)
            operands = [operand.text for operand in each.operands if operand.is_local]
            if _is_in_uniform_register(code, block, each) and uniform.issuperset(operands):
                uniform.add(each.result)
                values.elements[each.result] = (frozenset(),) * len(parts)
                continue
            moved = _move_elements(each, values, code.layout)
            if moved is None and each.opcode in _ALIASES:
                moved = (values.find_all(each.operands),) * len(parts)
            if moved is None:
                weights = [_count_halves(part, code.layout) for part in parts]
                if isinstance(each.type, Pointer) and code.is_threadgroup(
                    Value(each.type, each.result)
                ):
                    weights = [_THREADGROUP_ADDRESS]
                values.weights.update(
                    {(each.result, place): weight for place, weight in enumerate(weights)}
                )
                moved = tuple(frozenset({(each.result, place)}) for place in range(len(parts)))
            values.elements[each.result] = moved
    return values


def _move_elements(
    instruction: Instruction, values: _RegisterValues, layout: Layout
) -> tuple[frozenset[Register], ...] | None:
    """Return the elements that an instruction only takes or moves; None if it computes."""
    operands = [
        values.find_elements(each, len(_flatten(each.type, layout)))
        for each in instruction.operands
    ]
    if isinstance(instruction, Shuffle):
        both = (*operands[0], *operands[1])
        return tuple(both[each] if each >= 0 else frozenset() for each in instruction.mask)
    if isinstance(instruction, Part):
        type_ = instruction.operands[0].type
        start = 0
        for index in instruction.indices:
            start += sum(
                len(_flatten(layout.member(type_, before)[1], layout)) for before in range(index)
            )
            type_ = layout.member(type_, index)[1]
        end = start + len(_flatten(type_, layout))
        whole = operands[0]
        is_insertion = instruction.opcode == "insertvalue"
        return (*whole[:start], *operands[1], *whole[end:]) if is_insertion else whole[start:end]
    if instruction.opcode not in ("extractelement", "insertelement"):
        return None
    place = instruction.operands[-1].integer
    if place is None or not 0 <= place < len(operands[0]):
        return None
    if instruction.opcode == "extractelement":
        return (operands[0][place],)
    return (*operands[0][:place], *operands[1], *operands[0][place + 1 :])


def _flatten(type_: Type, layout: Layout) -> tuple[Type, ...]:
    """Return the scalar types of the elements of a vector, an array or a struct."""
    type_ = layout.resolve(type_)
    if isinstance(type_, Vector | ArrayType):
        return _flatten(type_.element, layout) * type_.count
    if isinstance(type_, Struct):
        return tuple(part for each in type_.members for part in _flatten(each, layout))
    return (type_,)


def _is_in_uniform_register(
    code: _AnalysedCode, block: BasicBlock, instruction: Instruction
) -> bool:
    if isinstance(instruction, CallInstruction) and instruction.name == _ARENA:
        return True
    value = Value(instruction.type, instruction.result)
    # Arithmetic may be computed earlier than it is written, a load may not.
    is_arithmetic = not isinstance(instruction, Memory | CallInstruction | Phi | Atomic)
    early = block is code.function.entry or is_arithmetic
    return early and code.uniformity.get(value) is UNIFORM


def _count_halves(type_: Type, layout: Layout) -> int:
    """Return the 16-bit units of a scalar."""
    if isinstance(type_, Pointer):
        return 4
    if isinstance(type_, Int | Float):
        return -(-type_.bits // 16)
    return -(-layout.size(type_) // 2)
