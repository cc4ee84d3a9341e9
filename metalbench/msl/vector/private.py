"""Private memory: which variables every lane has its own of, and how these lie side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import (
    Alloca,
    Block,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Type, Vector
from metalbench.msl.vector.analysis import Layout, Shapes, Source, analyse
from metalbench.msl.vector.shapes import UNIFORM

ALIGNMENT = 16  # bytes, of a lane's own copy
# Calls that say something of memory without touching it.
SILENT = ("llvm.assume", "llvm.lifetime.", "llvm.experimental.noalias.", "llvm.donothing")
FILLS = "llvm.memset."
COPIES_OR_FILLS = re.compile(r"llvm\.mem(?:cpy|move|set)\.")
# They work on all elements of the matrices that they are given, and on nothing else: those of the
# first operand are written, but for `matrix_store`, which reads them.
MATRICES = re.compile(r"_ZN2mbL\d+matrix_")
_MOST_FILLED = 1024  # bytes; an element at a time, where not all lanes are there
_ELEMENT = 8  # bytes of the largest


@dataclass(frozen=True)
class Analysed:
    """The shapes of a function's values, given where its private memory is."""

    shapes: Shapes
    layout: Layout
    variables: Mapping[str, str]  # of every address in private memory: the variable it is in


def analyse_with_memory(
    function: Function, flow: Flow, width: int, sources: Mapping[str, Source]
) -> Analysed:
    """Find the shapes, and the variables that cannot be one for all lanes. Raises IrError.

    One that all lanes write alike, such as most that hold parts of a matrix, is there once.
    """
    variables = _variables(function)
    sizes = _sizes(function, variables)
    own: set[str] = set()
    while True:
        layout = _layout(function, variables, sizes, own)
        shapes = analyse(function, flow, width, sources, layout)
        more = _written_apart(function, shapes, variables) - own
        if not more:
            return Analysed(shapes, layout, variables)
        own |= more


def _variables(function: Function) -> dict[str, str]:
    """Every address that is a variable's or a part of it."""
    found: dict[str, str] = {}
    for _, each in function.instructions:
        if isinstance(each, Alloca):
            if each.count is not None:
                raise IrError(f"{function.name}: {each.result} has no size that is known")
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


def _layout(
    function: Function, variables: Mapping[str, str], sizes: Mapping[str, int | None], own: set[str]
) -> Layout:
    strides = {}
    for _, each in function.instructions:
        if isinstance(each, Alloca) and each.result in own:
            whole = function.layout.size(each.allocated)
            strides[each.result] = sizes[each.result] or -(-whole // ALIGNMENT) * ALIGNMENT
    interleaved = {
        address for address, variable in variables.items() if variable in own and sizes[variable]
    }
    return Layout(strides, frozenset(interleaved))


def _sizes(function: Function, variables: Mapping[str, str]) -> dict[str, int | None]:
    """Of the variables of which all accesses have elements of one size: that size in bytes.

    Only these can be interleaved: of others, bytes of one element would be apart.
    """
    accesses: dict[str, set[int | None]] = {each: set() for each in variables.values()}
    for _, each in function.instructions:
        for address, size in _uses(function, each):
            if address.text in variables:
                accesses[variables[address.text]].add(size)
    return {
        variable: next(iter(sizes)) if len(sizes) == 1 else None
        for variable, sizes in accesses.items()
    }


def _uses(function: Function, instruction: Instruction) -> list[tuple[Value, int | None]]:
    """The operands that may be addresses, with what is accessed there; None if that is unknown."""
    if isinstance(instruction, Memory):
        whole = instruction.operands[:-1]
        size = function.layout.size(_element(instruction.accessed))
        return [(instruction.address, size), *((each, None) for each in whole)]
    if isinstance(instruction, ElementPointer):
        return [(each, None) for each in instruction.operands[1:]]
    if isinstance(instruction, Call) and (
        instruction.name.startswith(SILENT) or _fills_elements(instruction)
    ):
        return []
    return [(each, None) for each in instruction.operands]


def _fills_elements(call: Call) -> bool:
    """Whether it writes one byte into so much that this is a number of elements of any size."""
    if not call.name.startswith(FILLS) or call.operands[3].integer:
        return False
    byte, length = (call.operands[at].integer for at in (1, 2))
    if byte is None or length is None:
        return False
    return 0 < length <= _MOST_FILLED and length % _ELEMENT == 0


def _element(accessed: Type) -> Type:
    return accessed.element if isinstance(accessed, Vector) else accessed


def _written_apart(function: Function, shapes: Shapes, variables: Mapping[str, str]) -> set[str]:
    """The variables that lanes may write differently."""
    found = set()
    for block, each in function.instructions:
        for address in _apart(each, block, shapes, variables):
            found.add(variables[address.text])
    return found


def _apart(
    instruction: Instruction, block: Block, shapes: Shapes, variables: Mapping[str, str]
) -> list[Value]:
    """The addresses in variables that this instruction makes lanes differ at."""
    addresses = [each for each in instruction.operands if each.text in variables]
    if not addresses or _changes_nothing(instruction):
        return []
    others = [each for each in instruction.operands if each.text not in variables]
    alike = all(shapes.of(each, block) is UNIFORM for each in others)
    if isinstance(instruction, Memory):
        stored, address = instruction.operands
        if stored.text in variables:  # and may come back by any way, from each lane's own place
            return addresses
        alike = alike and _is_one(address, block, shapes, variables)
        return [] if alike and block not in shapes.divergence.masked else [address]
    if isinstance(instruction, Call):
        one = alike and all(shapes.of(each, block) is UNIFORM for each in addresses)
        if one and block not in shapes.divergence.masked:
            return []
        return [each for each in _written_by(instruction) if each.text in variables]
    return addresses


def _written_by(call: Call) -> Sequence[Value]:
    """The operands at which a function may write."""
    if COPIES_OR_FILLS.match(call.name):
        return call.operands[:1]
    if MATRICES.match(call.name):
        return call.operands[1:2] if "matrix_store" in call.name else call.operands[:1]
    return call.operands


def _changes_nothing(instruction: Instruction) -> bool:
    if isinstance(instruction, Call):
        return instruction.name.startswith(SILENT)
    return isinstance(instruction, ElementPointer) or instruction.opcode == "load"


def _is_one(address: Value, block: Block, shapes: Shapes, variables: Mapping[str, str]) -> bool:
    """Whether all lanes have the same place, each in its own copy or all in one."""
    shape = shapes.of(address, block)
    variable = Value(address.type, variables[address.text])
    return shape is UNIFORM or shape == shapes.of(variable)
