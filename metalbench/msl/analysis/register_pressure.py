"""Estimate the registers of a thread: the values that are live at once, as a GPU holds them.

A compiler for a GPU has a register for each element of a vector or a struct, and uniform registers
for values that all threads share. The values are those of the optimised LLVM IR, in its order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metalbench.msl.analysis.analysed_code import ARENA, AnalysedCode, Places
from metalbench.msl.analysis.private_memory import ASSUME_LIKE
from metalbench.msl.analysis.uniformity import UNIFORM
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    BasicBlock,
    CallInstruction,
    DebugRecord,
    Instruction,
    Memory,
    Part,
    Phi,
    Shuffle,
    Value,
)
from metalbench.msl.ir.types import ArrayType, Float, Int, Layout, Pointer, Struct, Type, Vector

# 16-bit units of an address in threadgroup memory (applegpu: the operands of threadgroup loads).
_THREADGROUP_ADDRESS = 1
# LLVM's functions that are one instruction of integer arithmetic.
_ARITHMETIC = ("llvm.umin.", "llvm.umax.", "llvm.smin.", "llvm.smax.", "llvm.abs.")
# Instructions of vectors that compute an element from the same elements of their operands.
_ELEMENTWISE = frozenset(
    (
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"),
        *("and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "icmp"),
        *("fpext", "fptrunc", "fptosi", "fptoui", "sitofp", "uitofp", "select", "phi"),
    )
)
_ELEMENTWISE_FUNCTIONS = (
    *("llvm.fma.", "llvm.fmuladd.", "llvm.fabs.", "llvm.sqrt.", "llvm.copysign."),
    *("llvm.minnum.", "llvm.maxnum.", "llvm.minimum.", "llvm.maximum."),
    *("llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.rint."),
    *_ARITHMETIC,
)
# Instructions whose result is in the registers of their operands.
_ALIASES = (
    *("getelementptr", "zext", "sext", "trunc", "bitcast", "freeze", "inttoptr", "ptrtoint"),
    *("extractelement", "extractvalue"),
)


def measure_pressure(code: AnalysedCode) -> tuple[int, dict[str, int]]:
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


def locate_registers(code: AnalysedCode, live: Mapping[str, int]) -> Counter[Places]:
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


def _find_origins(code: AnalysedCode, name: str) -> set[Places]:
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
    """The 16-bit units of each register, and the registers of the elements of each value.

    `demanded` has the registers that are read in the end. For a processor LLVM computes whole
    vectors even if only some elements are used. A GPU computes these elements only.
    """

    weights: dict[Register, int]
    elements: dict[str, tuple[frozenset[Register], ...]]
    demanded: set[Register]

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
        if isinstance(instruction, Phi) or not self._computes(instruction):
            return frozenset()
        return self._find_read(instruction, instruction.operands)

    def list_phi_uses(self, block: BasicBlock) -> frozenset[Register]:
        """Return the registers that the phis of the next blocks take from a block."""
        found = (
            self._find_read(phi, [operand])
            for after in block.successors
            for phi in after.phis
            for operand, source in zip(phi.operands, phi.sources, strict=True)
            if source == block.name
        )
        return frozenset().union(*found)

    def find_demanded(self, order: Sequence[BasicBlock]) -> None:
        """Fill `demanded` with the registers that the result of the kernel depends on."""
        reads: dict[Register, frozenset[Register]] = {}
        work: list[Register] = []
        for block in order:
            for each in block.instructions:
                if _is_elementwise(each) and self._computes(each):
                    for element in range(len(self.elements[each.result])):
                        reads[each.result, element] = self._find_element(each.operands, element)
                elif isinstance(each, Phi) or self._computes(each):
                    work += self.find_all(each.operands)
        while work:
            register = work.pop()
            if register not in self.demanded:
                self.demanded.add(register)
                work += reads.get(register, ())

    def _computes(self, instruction: Instruction) -> bool:
        """Return whether an instruction reads registers: it is not a note, and moves nothing."""
        is_note = isinstance(instruction, CallInstruction) and instruction.name.startswith(
            ASSUME_LIKE
        )
        is_alias = instruction.result and (instruction.result, 0) not in self.weights
        return not (is_note or is_alias)

    def _find_read(
        self, instruction: Instruction, operands: Sequence[Value]
    ) -> frozenset[Register]:
        """Return the registers of operands that are read for the demanded elements of a result."""
        if not _is_elementwise(instruction):
            return self.find_all(operands)
        count = len(self.elements[instruction.result])
        found = (
            self._find_element(operands, element)
            for element in range(count)
            if (instruction.result, element) in self.demanded
        )
        return frozenset().union(*found)

    def _find_element(self, operands: Iterable[Value], element: int) -> frozenset[Register]:
        """Return the registers of an element of operands; a scalar is used for all elements."""
        each = (self.elements.get(operand.text, ()) for operand in operands)
        found = (one[element if len(one) > 1 else 0] for one in each if one)
        return frozenset().union(*found)


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


def _assign_registers(code: AnalysedCode) -> _RegisterValues:
    """Return the registers of values, as a compiler for a GPU assigns them.

    Vectors and structs are a register for each element, so an instruction that only takes or moves
    elements has none. A value that is the same for all threads and computed from arguments at the
    begin of the kernel has none either: Apple's GPUs keep it in uniform registers.
    """
    values = _RegisterValues({}, {}, set())
    upper = _find_upper_halves(code)
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
            if moved is None and (each.opcode in _ALIASES or each.result in upper):
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
    values.find_demanded(code.flow.order)
    return values


def _find_upper_halves(code: AnalysedCode) -> set[str]:
    """Return shifts that only take the upper half of a word.

    A value of 32 bits is in two registers of 16 bits, and each can be an operand (applegpu: `r0l`
    and `r0h`).
    """
    found: set[str] = set()
    others: set[str] = set()
    for block in code.flow.order:
        for each in block.instructions:
            if each.opcode == "lshr" and each.type == Int(32) and each.operands[1].integer == 16:
                found.add(each.result)
            is_half = each.opcode == "trunc" and each.type == Int(16)
            if not (is_half or isinstance(each, DebugRecord)):
                others.update(operand.text for operand in each.operands)
    return found - others


def _is_elementwise(instruction: Instruction) -> bool:
    """Return whether each element of a vector depends on the same elements of the operands only."""
    return isinstance(instruction.type, Vector) and (
        instruction.name.startswith(_ELEMENTWISE_FUNCTIONS)
        if isinstance(instruction, CallInstruction)
        else instruction.opcode in _ELEMENTWISE
    )


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
    code: AnalysedCode, block: BasicBlock, instruction: Instruction
) -> bool:
    if isinstance(instruction, CallInstruction) and instruction.name == ARENA:
        return True
    value = Value(instruction.type, instruction.result)
    # Arithmetic may be computed earlier than it is written, a load may not.
    is_arithmetic = (
        instruction.name.startswith(_ARITHMETIC)
        if isinstance(instruction, CallInstruction)
        else not isinstance(instruction, Memory | Phi | Atomic)
    )
    early = block is code.function.entry or is_arithmetic
    return early and code.uniformity.get(value) is UNIFORM


def _count_halves(type_: Type, layout: Layout) -> int:
    """Return the 16-bit units of a scalar."""
    if isinstance(type_, Pointer):
        return 4
    if isinstance(type_, Int | Float):
        return -(-type_.bits // 16)
    return -(-layout.size(type_) // 2)
