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
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.analysed_code import (
    LARGEST_ACCESS,
    OPAQUE,
    AnalysedCode,
    LocatedCode,
    Places,
)
from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.private_memory import ASSUME_LIKE, analyse_private_memory
from metalbench.msl.analysis.register_pressure import locate_registers, measure_pressure
from metalbench.msl.analysis.uniformity import TransferFunction, get_stride
from metalbench.msl.ir.model import (
    Alloca,
    BasicBlock,
    CallInstruction,
    DebugRecord,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import SourceVariable, is_own
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import ArrayType, Int, Named, Struct, Type, Vector

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
# Smaller private variables are not reported.
_LEAST_PRIVATE = 8
# Instructions of each side of a branch from which the sides do work.
_LEAST_WORK = 3
_STORAGE = "mb_threadgroup"
_TEXTURES = ("texture", "texel", "sampler")
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_WIDE = ("add", "sub", "mul", "shl", *_DIVISIONS)


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
    code = LocatedCode(function, metadata)
    findings = [*_find_thread_arrays(code, variables)]
    threadgroup_bytes = _measure_threadgroup_memory(module, findings)
    registers = instructions = 0
    reason = ""
    try:
        flow = flow_of(function)
        analysis = analyse_private_memory(function, flow, SIMD_WIDTH, transfer_functions)
        analysed = AnalysedCode(function, metadata, flow, analysis.uniformity)
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


# thread-array: variables of a thread that LLVM could not keep in registers.


_COOPERATIVE_TENSOR = '%"class.metal::cooperative_tensor'


def _find_thread_arrays(
    code: LocatedCode, variables: Mapping[str, SourceVariable]
) -> Iterator[PerformanceFinding]:
    sizes: dict[tuple[str, int, str], int] = {}
    indexed: dict[tuple[str, int, str], tuple[str, int]] = {}
    for _, each in code.function.instructions:
        if not isinstance(each, Alloca) or not _is_aggregate(each.allocated):
            continue
        # A cooperative tensor is where its device wants it. Here the engine's own products use it.
        if str(each.allocated).startswith(_COOPERATIVE_TENSOR):
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


def _list_accesses(code: LocatedCode, variable: str) -> tuple[list[Instruction], list[Instruction]]:
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


def _find_strides(code: AnalysedCode) -> Iterator[PerformanceFinding]:
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
    words = max(1, min(covered, LARGEST_ACCESS) // BANK_BYTES)
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
    code: LocatedCode, rule: str, instruction: Instruction, message: str
) -> Iterator[PerformanceFinding]:
    place = code.locate(instruction)
    if place is not None:
        yield PerformanceFinding(rule, *place, message)


def _split_address(code: LocatedCode, address: Value) -> tuple[tuple[object, ...], int]:
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


def _split_index(code: LocatedCode, value: Value) -> tuple[str, int]:
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


def _find_divergent_branches(code: AnalysedCode) -> Iterator[PerformanceFinding]:
    for branch, region in code.uniformity.divergence.regions.items():
        loop = code.find_loop(branch)
        if loop is None or region.join not in loop.blocks or code.find_header(branch.terminator):
            continue
        if code.is_bounds_guard(branch) or code.is_choice_of_uniform_branches(branch):
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
    code: AnalysedCode, precise_lines: Collection[tuple[str, int]]
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
            elif isinstance(each, CallInstruction) and each.name.startswith(OPAQUE):
                name = each.name.removeprefix(OPAQUE).partition(".")[0]
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


def _find_indices(code: AnalysedCode) -> set[str]:
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


def _fits_32_bits(code: AnalysedCode, value: Value) -> bool:
    """Return whether a 64-bit value is a small constant, or was extended from 32 bits or fewer.

    A phi of such values fits, too: LLVM makes one where only some predecessors have extended it.
    """
    seen: set[str] = set()
    work = [value]
    while work:
        each = work.pop()
        made = code.definitions.get(each.text)
        if made is None:
            if not (each.text.isdecimal() and int(each.text) < 1 << 32):
                return False
        elif isinstance(made, Phi):
            if each.text not in seen:
                seen.add(each.text)
                work += made.operands
        elif made.opcode not in {"zext", "sext"}:
            return False
    return True


# instruction-footprint: loops whose code does not fit into the instruction cache.


def _find_large_code(code: AnalysedCode) -> Iterator[PerformanceFinding]:
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
    code: AnalysedCode, blocks: Collection[BasicBlock], count: int, what: str
) -> Iterator[PerformanceFinding]:
    """Report the line that has most of the instructions."""
    lines: Counter[Places] = Counter()
    # In order, as of equal lines the first one is reported.
    for block in sorted(blocks, key=code.flow.position.__getitem__):
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


# registers, register-spill: the largest number of values that are live at once.


def _find_registers(code: AnalysedCode) -> tuple[int, list[PerformanceFinding]]:
    """Return the estimated registers of 32 bits of a thread, and a finding if they are many."""
    halves, live = measure_pressure(code)
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
    places = locate_registers(code, live)
    if not places:
        return registers, []
    place, own = _find_main_line(places)
    message = (
        f"about {registers} registers of 32 bits are live at once: {effect}; {-(-own // 2)} of "
        "them hold results of this line"
    )
    rule = "registers" if threads is not None else "register-spill"
    return registers, [PerformanceFinding(rule, *place[0], message, place[1:])]
