"""Private memory: variables that need one copy per lane, and the layout of the copies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    PrivateLayout,
    TransferFunction,
    UniformityInfo,
    analyse_uniformity,
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
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Vector

ALIGNMENT = 16  # bytes, of each lane's copy
# Calls that annotate memory and do not access it (LLVM's `isAssumeLikeIntrinsic`).
ASSUME_LIKE = ("llvm.assume", "llvm.lifetime.", "llvm.experimental.noalias.", "llvm.donothing")
MEMSET = "llvm.memset."
MEMORY_INTRINSICS = ("llvm.memcpy.", "llvm.memmove.", MEMSET)
# They access the matrices of their operands only. All but `matrix_store` write the first operand.
MATRIX_FUNCTIONS = re.compile(r"_ZN2mbL\d+matrix_")
# They are called once for all lanes, with the rows of arrays of the lanes.
LANES_FUNCTIONS = re.compile(r"_ZN2mbL\d+matrix_lanes_")
_MAX_FILL = 1024  # bytes; in masked blocks one store per element
_MAX_ELEMENT = 8  # bytes


@dataclass(frozen=True)
class FunctionAnalysis:
    """Uniformity of a function's values, with the layout of its private memory."""

    uniformity: UniformityInfo
    layout: PrivateLayout
    variables: Mapping[str, str]  # the variable of each private address


def analyse_private_memory(
    function: Function, flow: Flow, width: int, transfer_functions: Mapping[str, TransferFunction]
) -> FunctionAnalysis:
    """Compute the uniformity, and find the variables that need one copy per lane. Raise IrError.

    A variable that all lanes write alike, such as most parts of a matrix, exists once.
    """
    variables = _find_private_addresses(function)
    sizes = _find_element_sizes(function, variables)
    per_lane: set[str] = set()
    while True:
        layout = _lay_out(function, variables, sizes, per_lane)
        info = analyse_uniformity(function, flow, width, transfer_functions, layout)
        more = _find_per_lane_variables(function, info, variables) - per_lane
        if not more:
            return FunctionAnalysis(info, layout, variables)
        per_lane |= more


def _find_private_addresses(function: Function) -> dict[str, str]:
    """Return the variable of each address that is computed from an alloca. Raise IrError."""
    found: dict[str, str] = {}
    for _, each in function.instructions:
        if isinstance(each, Alloca):
            if each.count is not None:
                raise IrError(f"{function.name}: {each.result} has no constant size")
            found[each.result] = each.result
    addresses = [each for _, each in function.instructions if isinstance(each, ElementPointer)]
    before = -1
    while before != len(found):
        before = len(found)
        for each in addresses:
            base = found.get(each.operands[0].text)
            if base is not None:
                found[each.result] = base
    return found


def _lay_out(
    function: Function,
    variables: Mapping[str, str],
    sizes: Mapping[str, int | None],
    per_lane: set[str],
) -> PrivateLayout:
    strides = {}
    for _, each in function.instructions:
        if isinstance(each, Alloca) and each.result in per_lane:
            whole = function.layout.size(each.allocated)
            strides[each.result] = sizes[each.result] or -(-whole // ALIGNMENT) * ALIGNMENT
    interleaved = {
        address
        for address, variable in variables.items()
        if variable in per_lane and sizes[variable]
    }
    return PrivateLayout(strides, frozenset(interleaved))


def _find_element_sizes(function: Function, variables: Mapping[str, str]) -> dict[str, int | None]:
    """Return the element size of each variable in bytes; None if its accesses differ in it.

    Only variables with one element size can be interleaved. Otherwise the bytes of one element
    would not be adjacent.
    """
    accesses: dict[str, set[int | None]] = {each: set() for each in variables.values()}
    for _, each in function.instructions:
        for address, size in _find_address_operands(function, each):
            if address.text in variables:
                accesses[variables[address.text]].add(size)
    return {
        variable: next(iter(sizes)) if len(sizes) == 1 else None
        for variable, sizes in accesses.items()
    }


def _find_address_operands(
    function: Function, instruction: Instruction
) -> list[tuple[Value, int | None]]:
    """Return operands that may be addresses, with the accessed element's size; None if unknown."""
    if isinstance(instruction, Memory):
        whole = instruction.operands[:-1]
        accessed = instruction.accessed
        element = accessed.element if isinstance(accessed, Vector) else accessed
        size = function.layout.size(element)
        return [(instruction.address, size), *((each, None) for each in whole)]
    if isinstance(instruction, ElementPointer):
        return [(each, None) for each in instruction.operands[1:]]
    if isinstance(instruction, CallInstruction) and (
        instruction.name.startswith(ASSUME_LIKE)
        or _is_element_fill(instruction)
        or LANES_FUNCTIONS.match(instruction.name)
    ):
        return []
    return [(each, None) for each in instruction.operands]


def _is_element_fill(call: CallInstruction) -> bool:
    """Return whether a call fills whole elements of any size with one constant byte."""
    if not call.name.startswith(MEMSET) or call.operands[3].integer:
        return False
    byte, length = (call.operands[at].integer for at in (1, 2))
    if byte is None or length is None:
        return False
    return 0 < length <= _MAX_FILL and length % _MAX_ELEMENT == 0


def _find_per_lane_variables(
    function: Function, info: UniformityInfo, variables: Mapping[str, str]
) -> set[str]:
    """Return the variables that lanes may write with different values or at different addresses."""
    found = set()
    for block, each in function.instructions:
        for address in _find_divergent_addresses(each, block, info, variables):
            found.add(variables[address.text])
    return found


def _find_divergent_addresses(
    instruction: Instruction, block: BasicBlock, info: UniformityInfo, variables: Mapping[str, str]
) -> list[Value]:
    """Return the private addresses at which an instruction makes the contents differ by lane."""
    addresses = [each for each in instruction.operands if each.text in variables]
    if not addresses or _is_read_only(instruction):
        return []
    others = [each for each in instruction.operands if each.text not in variables]
    alike = all(info.get(each, block) is UNIFORM for each in others)
    if isinstance(instruction, Memory):
        stored, address = instruction.operands
        if stored.text in variables:  # a loaded copy may have another uniformity
            return addresses
        alike = alike and _is_same_address(address, block, info, variables)
        return [] if alike and block not in info.divergence.masked else [address]
    if isinstance(instruction, CallInstruction):
        one = alike and all(info.get(each, block) is UNIFORM for each in addresses)
        one = one and not LANES_FUNCTIONS.match(instruction.name)
        if one and block not in info.divergence.masked:
            return []
        return [each for each in _get_written_operands(instruction) if each.text in variables]
    return addresses


def _get_written_operands(call: CallInstruction) -> Sequence[Value]:
    """Return the pointer operands that a called function may write to."""
    if call.name.startswith(MEMORY_INTRINSICS):
        return call.operands[:1]
    if LANES_FUNCTIONS.match(call.name):
        return call.operands  # all must be rows
    if MATRIX_FUNCTIONS.match(call.name):
        return call.operands[1:2] if "matrix_store" in call.name else call.operands[:1]
    return call.operands


def _is_read_only(instruction: Instruction) -> bool:
    if isinstance(instruction, CallInstruction):
        return instruction.name.startswith(ASSUME_LIKE)
    return isinstance(instruction, ElementPointer) or instruction.opcode == "load"


def _is_same_address(
    address: Value, block: BasicBlock, info: UniformityInfo, variables: Mapping[str, str]
) -> bool:
    """Return whether all lanes access the same offset, of one variable or of their copies."""
    uniformity = info.get(address, block)
    variable = Value(address.type, variables[address.text])
    return uniformity is UNIFORM or uniformity == info.get(variable)
