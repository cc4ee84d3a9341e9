"""Prove the alignment of a kernel's addresses by an analysis of known trailing zero bits.

LLVM's own analysis (`computeKnownBits`) does not look through casts of address spaces, and ignores
what a branch on `cols % 4 == 0` says of the code that it leads to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metalbench.msl.ir.model import (
    Alloca,
    BasicBlock,
    CallInstruction,
    Compare,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Value,
)
from metalbench.msl.ir.module import Global
from metalbench.msl.ir.read_instruction import read_constant
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, ArrayType, Int, Pointer, Vector

# More are not counted.
MOST = 16
# Deeper expressions prove nothing.
_DEPTH = 100
# The fixed point of a function's phis is reached in a few rounds, or given up.
_ROUNDS = 40
_MOST_PHIS = 20000

_BINARY = frozenset({"add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "urem"})
_CASTS = frozenset(
    {"zext", "sext", "trunc", "freeze", "inttoptr", "ptrtoint", "addrspacecast", "bitcast"}
)
_EXTREMES = ("llvm.umin.i", "llvm.umax.i", "llvm.smin.i", "llvm.smax.i")
_ALL_ZERO = ("null", "zeroinitializer", "undef", "poison")

# Offsets of mb::gpu::Launch (csrc/msl/mb/gpu/abi.h): its addresses of buffers, and its offsets
# into dynamic threadgroup memory, which are multiples of 16.
BUFFERS = range(56, 56 + 31 * 8, 8)
THREADGROUP_OFFSETS = range(BUFFERS.stop, BUFFERS.stop + 31 * 4, 4)
_THREADGROUP_ZEROS = 4

Facts = Mapping[str, int]


def trailing_zeros(number: int) -> int:
    """Return the number of trailing zero bits, at most `MOST`."""
    return MOST if number == 0 else min((number & -number).bit_length() - 1, MOST)


def _both(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the facts of both."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def _common(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the facts that both have."""
    return {name: min(zeros, second[name]) for name, zeros in first.items() if name in second}


class Use(NamedTuple):
    """An address that an instruction accesses, and the instruction's block."""

    address: str
    block: str
    instruction: Instruction


def _is_number(value: Value) -> bool:
    """Return whether a value is an integer, or an address."""
    return isinstance(value.type, Int | Pointer)


def _as_binary(made: Instruction | None) -> tuple[str, str, str] | None:
    """Return the operation and the operands of an integer operation on two values."""
    if made is None or made.opcode not in _BINARY or not isinstance(made.type, Int):
        return None
    first, second = (each.text for each in made.operands)
    return made.opcode, first, second


def _as_cast(made: Instruction | None) -> str | None:
    """Return the operand of a cast of an integer or an address, which has its trailing zeros."""
    if made is None or made.opcode not in _CASTS or not _is_number(made.operands[0]):
        return None
    return made.operands[0].text


class ProvenAlignment:
    """Trailing zeros of a function's values, in each of its blocks."""

    def __init__(
        self, function: Function, globals_: Mapping[str, Global], buffer_zeros: int
    ) -> None:
        self._globals = globals_
        self._layout = function.layout
        self._buffer_zeros = buffer_zeros
        self._made = function.definitions()
        self._blocks = [*function.blocks.values()]
        self._defines: dict[str, set[str]] = {}
        self._defined_in: dict[str, str] = {}
        self._phis: dict[str, list[tuple[str, str]]] = {}
        # Phis of conditions.
        self._choices: dict[str, list[tuple[str, str]]] = {}
        for block in self._blocks:
            self._note_definitions(block)
        self._launch = _find_launch(function)
        # Trailing zeros of values where a block begins, and on the edges between blocks.
        self._edges: dict[tuple[str, str], dict[str, int]] = {}
        self._numbers: dict[tuple[tuple[str, int], ...], int] = {}
        self._known: list[dict[str, int]] = []
        self._facts = {name: self._number(of) for name, of in self._flow().items()}
        # Numbers of facts: those that hold where a phi is, and along its edges.
        self._before: dict[tuple[int, str], int] = {}
        self._along: dict[tuple[int, str, str], int] = {}
        self._phis_prove = True

    def _note_definitions(self, block: BasicBlock) -> None:
        defines = {each.result for each in block.instructions if each.result}
        self._defines[block.name] = defines
        self._defined_in.update(dict.fromkeys(defines, block.name))
        for phi in block.phis:
            if isinstance(phi.type, Int | Pointer):
                phis = self._choices if phi.type == BOOL else self._phis
                values = (each.text for each in phi.operands)
                phis[phi.result] = list(zip(values, phi.sources, strict=True))

    def _number(self, facts: Mapping[str, int]) -> int:
        """Return a number for a set of facts, the same one for equal sets."""
        key = tuple(sorted(facts.items()))
        if key not in self._numbers:
            self._numbers[key] = len(self._known)
            self._known.append(dict(facts))
        return self._numbers[key]

    # Facts are what branches say of values: trailing zeros in code that a branch leads to.

    def _flow(self) -> Mapping[str, Facts]:
        """Return what is known at the start of each block, where all of its predecessors agree."""
        branches: dict[tuple[str, str], tuple[str, bool]] = {}
        assumed: dict[str, list[str]] = defaultdict(list)
        preds: dict[str, list[str]] = defaultdict(list)
        for block in self._blocks:
            end = block.terminator
            for target in dict.fromkeys(end.targets):
                preds[target].append(block.name)
            if end.opcode == "br" and len({*end.targets}) == 2:
                for target, holds in zip(end.targets, (True, False), strict=True):
                    branches[block.name, target] = end.operands[0].text, holds
            for each in block.instructions:
                if isinstance(each, CallInstruction) and each.name == "llvm.assume":
                    assumed[block.name].append(each.operands[0].text)
        self._dominators = self._dominate(preds)
        known: Mapping[str, Facts] = {block.name: {} for block in self._blocks}
        # What a phi of conditions says depends on what is known where they come from.
        for _ in range(2):
            self._facts_before = known
            self._facts_by_condition: dict[tuple[str, bool], dict[str, int]] = {}
            said = {edge: self._facts_of(*condition) for edge, condition in branches.items()}
            self._edges = {edge: facts for edge, facts in said.items() if facts}
            own: dict[str, dict[str, int]] = defaultdict(dict)
            for name, conditions in assumed.items():
                for condition in conditions:
                    own[name] |= _both(own[name], self._facts_of(condition, True))
            if not self._edges and not any(own.values()):
                break
            known = self._propagate(own, preds)
        return known

    def _dominate(self, preds: Mapping[str, list[str]]) -> dict[str, int]:
        """Return the blocks that dominate each block, as a mask of their bits."""
        bit = {block.name: 1 << number for number, block in enumerate(self._blocks)}
        entry = self._blocks[0].name
        everything = (1 << len(self._blocks)) - 1
        found = dict.fromkeys(bit, everything)
        found[entry] = bit[entry]
        self._bit = bit
        changed = True
        while changed:
            changed = False
            for name, own in bit.items():
                if name == entry:
                    continue
                mask = everything
                for pred in preds.get(name, []):
                    mask &= found[pred]
                mask |= own
                changed |= mask != found[name]
                found[name] = mask
        return found

    def _propagate(
        self, own: Mapping[str, Facts], preds: Mapping[str, list[str]]
    ) -> Mapping[str, Facts]:
        known: dict[str, dict[str, int] | None] = {block.name: None for block in self._blocks}
        known[self._blocks[0].name] = dict(own.get(self._blocks[0].name, {}))
        for _ in range(len(self._blocks) + _ROUNDS):
            changed = False
            for block in self._blocks[1:]:
                given: dict[str, int] | None = None
                for pred in preds.get(block.name, []):
                    before = known.get(pred)
                    if before is None:
                        continue
                    there = _both(before, self._edges.get((pred, block.name), {}))
                    given = there if given is None else _common(given, there)
                if given is None:
                    continue
                # A value that is computed anew is not what was compared.
                given = {
                    name: zeros
                    for name, zeros in given.items()
                    if name not in self._defines[block.name]
                }
                given |= own.get(block.name, {})
                if given != known[block.name]:
                    known[block.name] = given
                    changed = True
            if not changed:
                return {name: of or {} for name, of in known.items()}
        return {block.name: {} for block in self._blocks}

    def _facts_of(self, condition: str, holds: bool, depth: int = 0) -> dict[str, int]:
        """Return what a condition says of values, if it holds or if it does not."""
        key = condition, holds
        if key not in self._facts_by_condition:
            # A condition that depends on itself, around a loop, says nothing there.
            self._facts_by_condition[key] = {}
            self._facts_by_condition[key] = self._consequences(condition, holds, depth)
        return self._facts_by_condition[key]

    def _consequences(self, condition: str, holds: bool, depth: int) -> dict[str, int]:  # noqa: PLR0911
        made = self._made.get(condition)
        if made is None or depth > _DEPTH:
            return {}
        if condition in self._choices:
            return self._facts_of_phi(condition, holds, depth)
        operands = [each.text for each in made.operands]
        if made.opcode == "trunc" and not holds and _is_number(made.operands[0]):
            low: dict[str, int] = {}
            self._multiple(operands[0], 1, low, 0)
            return low
        if made.type == BOOL:
            if parts := _parts_of(made.opcode, operands, holds):
                said: dict[str, int] = {}
                for part in parts:
                    said = _both(said, self._facts_of(part, holds, depth + 1))
                return said
            if made.opcode == "xor" and operands[1] == "true":
                return self._facts_of(operands[0], not holds, depth + 1)
        if not isinstance(made, Compare) or operands[1] != "0":
            return {}
        is_zero = made.predicate == "eq" if holds else made.predicate == "ne"
        return self._zero(operands[0]) if is_zero else {}

    def _facts_of_phi(self, phi: str, holds: bool, depth: int) -> dict[str, int]:
        """Return what is known wherever a phi of conditions may have got its value."""
        opposite = "false" if holds else "true"
        to = self._defined_in[phi]
        known: dict[str, int] | None = None
        for value, block in self._choices[phi]:
            if value == opposite:
                continue
            there = _both(self._facts_before[block], self._edges.get((block, to), {}))
            there = _both(there, self._facts_of(value, holds, depth + 1))
            known = there if known is None else _common(known, there)
        # Only a value that is computed before the phi is sure to be the one that was compared.
        return {
            value: zeros
            for value, zeros in (known or {}).items()
            if self._dominates(value, to) and value not in self._phis
        }

    def _dominates(self, value: str, block: str) -> bool:
        where = self._defined_in.get(value)
        return where is None or (
            where != block and bool(self._dominators[block] & self._bit[where])
        )

    def _zero(self, value: str) -> dict[str, int]:
        """Return what is known where the result of an `and`, a `urem` or an `or` is zero."""
        said: dict[str, int] = {}
        binary = _as_binary(self._made.get(value))
        if binary is None:
            return said
        operation, first, second = binary
        # LLVM joins two comparisons with zero: `(a & 7 | b & 15) == 0`.
        if operation == "or":
            return _both(self._zero(first), self._zero(second))
        if not second.isdecimal():
            return said
        number = int(second)
        if operation == "and" and (number + 1) & number == 0:
            self._multiple(first, min(number.bit_length(), MOST), said, 0)
        elif operation == "and":
            low = trailing_zeros(~number)
            if low:
                self._multiple(first, low, said, 0)
        elif operation == "urem" and number:
            self._multiple(first, trailing_zeros(number), said, 0)
        return said

    def _multiple(self, value: str, zeros: int, said: dict[str, int], depth: int) -> None:
        """Collect what follows from a value's trailing zeros for its operands."""
        if zeros <= 0 or depth > _DEPTH or not value.startswith("%"):
            return
        said[value] = max(zeros, said.get(value, 0))
        made = self._made.get(value)
        if cast := _as_cast(made):
            self._multiple(cast, zeros, said, depth + 1)
        elif binary := _as_binary(made):
            operation, first, second = binary
            if operation == "or":
                self._multiple(first, zeros, said, depth + 1)
                self._multiple(second, zeros, said, depth + 1)
            elif operation == "shl" and second.isdecimal():
                self._multiple(first, zeros - int(second), said, depth + 1)
            elif operation == "mul" and second.lstrip("-").isdecimal() and int(second):
                self._multiple(first, zeros - trailing_zeros(int(second)), said, depth + 1)

    # Trailing zeros of values.

    def zeros(self, uses: Sequence[Use]) -> list[int]:
        """Return the trailing zeros of addresses, at the greatest fixed point of all phis."""
        self._settled: dict[tuple[str, int], int] = {}
        self._memo: dict[tuple[str, int], int] = {}
        for _ in range(_ROUNDS):
            self._memo.clear()
            before = dict(self._settled)
            found = [self._zeros(each.address, self._facts[each.block], 0) for each in uses]
            after = {key: self._incoming(*key) for key in list(self._settled)}
            if len(self._settled) > _MOST_PHIS:
                break
            if self._settled == before == after:
                return found
            self._settled.update(after)
        self._memo.clear()
        self._phis_prove = False
        return [self._zeros(each.address, self._facts[each.block], 0) for each in uses]

    def _of_phi(self, phi: str, facts: int) -> int:
        """Return the trailing zeros of a phi, as far as is known in this round."""
        if not self._phis_prove:
            return 0
        to = self._defined_in[phi]
        place = (facts, to)
        if place not in self._before:
            # What is known of a value that is computed before the phi held there as well.
            known = self._known[facts].items()
            self._before[place] = self._number(
                {value: zeros for value, zeros in known if self._dominates(value, to)}
            )
        return self._settled.setdefault((phi, self._before[place]), MOST)

    def _incoming(self, phi: str, facts: int) -> int:
        to = self._defined_in[phi]
        found = MOST
        for value, block in self._phis[phi]:
            edge = (facts, block, to)
            if edge not in self._along:
                there = _both(self._known[facts], self._known[self._facts[block]])
                self._along[edge] = self._number(_both(there, self._edges.get((block, to), {})))
            found = min(found, self._zeros(value, self._along[edge], 0))
        return found

    def _zeros(self, value: str, facts: int, depth: int) -> int:
        if not value.startswith("%"):
            return self._constant(value)
        key = (value, facts)
        if key not in self._memo:
            if depth > _DEPTH:
                return 0
            said = self._known[facts].get(value, 0)
            self._memo[key] = min(max(said, self._zeros_of_value(value, facts, depth + 1)), MOST)
        return self._memo[key]

    def _constant(self, text: str) -> int:
        if text.lstrip("-").isdecimal():
            return trailing_zeros(int(text))
        if text in _ALL_ZERO:
            return MOST
        if text.startswith("@"):
            variable = self._globals.get(text)
            return trailing_zeros(variable.alignment or 1) if variable else 0
        constant = read_constant(text)
        if isinstance(constant, ElementPointer):
            return self._zeros_of_element(constant, self._number({}), 0)
        cast = _as_cast(constant)
        return self._constant(cast) if cast else 0

    def _zeros_of_value(self, value: str, facts: int, depth: int) -> int:  # noqa: PLR0911
        if value in self._phis:
            return self._of_phi(value, facts)
        made = self._made.get(value)
        if made is None:
            return 0
        if binary := _as_binary(made):
            return self._binary(*binary, facts, depth)
        if cast := _as_cast(made):
            return self._zeros(cast, facts, depth)
        if isinstance(made, ElementPointer):
            return self._zeros_of_element(made, facts, depth)
        if made.opcode == "select" or (
            isinstance(made, CallInstruction) and made.name.startswith(_EXTREMES)
        ):
            return min(self._operand(each, facts, depth) for each in made.operands[-2:])
        if isinstance(made, Alloca):
            return trailing_zeros(made.alignment)
        return self._of_launch(made) if isinstance(made, Memory) else 0

    def _of_launch(self, load: Memory) -> int:
        """Return what the host promises of a member of mb::gpu::Launch."""
        pointer = self._made.get(load.address.text)
        if not isinstance(load.type, Int) or not isinstance(pointer, ElementPointer):
            return 0
        if pointer.element != Int(8) or len(pointer.operands) != 2 or not self._launch:
            return 0
        base, offset = pointer.operands
        if base.text != self._launch or offset.integer is None:
            return 0
        if offset.integer in BUFFERS:
            return self._buffer_zeros
        return _THREADGROUP_ZEROS if offset.integer in THREADGROUP_OFFSETS else 0

    def _operand(self, value: Value, facts: int, depth: int) -> int:
        return self._zeros(value.text, facts, depth) if _is_number(value) else 0

    def _binary(self, operation: str, first: str, second: str, facts: int, depth: int) -> int:
        one = self._zeros(first, facts, depth)
        if operation in ("shl", "lshr", "ashr"):
            if not second.isdecimal():
                return one if operation == "shl" else 0
            return max(one + int(second) if operation == "shl" else one - int(second), 0)
        other = self._zeros(second, facts, depth)
        if operation == "mul":
            return one + other
        return max(one, other) if operation == "and" else min(one, other)

    def _zeros_of_element(self, pointer: ElementPointer, facts: int, depth: int) -> int:
        """Return the trailing zeros of an element's or a member's address."""
        base, *indices = pointer.operands
        type_, zeros = pointer.element, self._operand(base, facts, depth)
        try:
            for number, index in enumerate(indices):
                if number:
                    type_ = self._layout.resolve(type_)
                    if not isinstance(type_, Vector | ArrayType):
                        offset, type_ = self._layout.member(type_, index.integer or 0)
                        zeros = min(zeros, trailing_zeros(offset))
                        continue
                    type_ = type_.element
                size = self._layout.size(type_)
                zeros = min(zeros, self._operand(index, facts, depth) + trailing_zeros(size))
        except IrError:  # a type whose size is not known
            return 0
        return zeros


def _find_launch(function: Function) -> str:
    """Return the parameter that is a mb::gpu::Launch by value, or ""."""
    is_kernel = 'Launch")' in function.head or "Launch)" in function.head
    return function.parameters[-1].text if is_kernel else ""


def _parts_of(opcode: str, operands: Sequence[str], holds: bool) -> Sequence[str]:
    """Return the conditions that all hold if a condition does, or all do not if it does not."""
    if opcode == ("and" if holds else "or"):
        return operands
    if opcode == "select":
        condition, yes, no = operands
        if holds and no == "false":
            return condition, yes
        if not holds and yes == "true":
            return condition, no
    return ()
