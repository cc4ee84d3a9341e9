"""Instrument counted builds: calls in a kernel's LLVM IR that count what its source does.

They are inserted before anything is optimised, where every load and store of the source still is
one. Accesses to a thread's own stack are not counted. What a function of the MSL headers does is
counted as one event, such as a barrier, at the line of the user's that calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import Metadata, is_own
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER, ArrayType, Float, Int, Pointer, Type, Vector

READ, WRITE, ATOMIC = range(3)
_OPERATIONS = {
    "fadd": "add", "fsub": "add", "fneg": "add", "fmul": "multiply", "fdiv": "divide",
    "frem": "divide", "fcmp": "compare",
    "add": "integer", "sub": "integer", "mul": "integer", "shl": "integer", "lshr": "integer",
    "ashr": "integer", "and": "integer", "or": "integer", "xor": "integer", "icmp": "integer",
    "udiv": "integer_divide", "sdiv": "integer_divide", "urem": "integer_divide",
    "srem": "integer_divide",
}  # fmt: skip
_COUNTED_INTRINSICS = {
    "fma": "fma", "fmuladd": "fma", "sqrt": "special", "minnum": "compare", "maxnum": "compare",
    "fabs": "compare", "floor": "compare", "ceil": "compare", "trunc": "compare",
    "rint": "compare", "copysign": "compare", "round": "compare", "smin": "integer",
    "smax": "integer", "umin": "integer", "umax": "integer", "ctpop": "integer",
    "ctlz": "integer", "cttz": "integer", "bitreverse": "integer", "abs": "integer",
}  # fmt: skip
_COPIES = ("llvm.memcpy.", "llvm.memmove.")
_FILL = "llvm.memset."
_COUNT_SEGMENT, _COUNT_ACCESS = "mb_count_segment", "mb_count_access"
# In the name of a template's instance: the number of a vector's components.
_COMPONENTS = re.compile(r"char ?\[(\d)\]")
# Pointers are not traced back further.
_MOST_STEPS = 1000
_SPECIAL = frozenset(
    ["exp", "exp2", "exp10", "log", "log2", "log10", "tanh", "sinh", "cosh", "asinh",
     "acosh", "atanh", "asin", "acos", "atan", "atan2", "pow", "powr", "sinpi", "cospi",
     "tanpi", "sin", "cos", "tan", "sincos", "sqrt", "rsqrt", "fmod"]
)  # fmt: skip
_BY_FILE = {"simd_functions.h": "simdgroup", "atomic.h": "atomic"}
_BY_NAME = {
    "threadgroup_barrier": "barrier",
    "simdgroup_barrier": "simdgroup_barrier",
    "quadgroup_barrier": "simdgroup_barrier",
    "simdgroup_multiply": "matrix_multiply",
    "simdgroup_multiply_accumulate": "matrix_multiply",
    "atomic_thread_fence": "fence",
}
# Functions that find a thread's place and its threadgroup's memory: no Metal source has them.
_MACHINERY = frozenset(["threadgroup_variable"])
_MACHINERY_FILES = frozenset(
    ["abi.h", "sync.h", "entry.h", "fiber_entry.h", "fiber_place.h", "place.h", "attributes.h"]
)


@dataclass
class AccessSite:
    """An instruction that accesses memory; `kind` is of READ, WRITE, ATOMIC."""

    file: str
    line: int
    kind: int
    bytes: int


@dataclass
class Segment:
    """Code without branches: the operations of one execution, by (file, line) and kind."""

    work: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, place: AccessPlace, what: str, count: int = 1) -> None:
        """Count something at a line."""
        of_line = self.work.setdefault(f"{place.file}:{place.line}", {})
        of_line[what] = of_line.get(what, 0) + count


@dataclass
class Counted:
    """The meaning of the numbers in the calls of a module."""

    sites: list[AccessSite] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class AccessPlace:
    """The user's line of an instruction, and the outermost function of Metal's that it is in.

    `event` is what that function counts as, empty if its own instructions count; `instance`
    identifies the call, `count` is the number of events at once, of a vector's components.
    """

    file: str
    line: int
    event: str = ""
    instance: str = ""
    count: int = 1
    is_machinery: bool = False


def count(module: Module) -> Counted:
    """Insert calls that count, and return what their numbers mean.

    Raises IrError if the module has none of the functions to call.
    """
    counted, places = Counted(), SourceLines(module.metadata)
    for helper in (_COUNT_SEGMENT, _COUNT_ACCESS):
        if not module.declares(helper):
            raise IrError(f"the module has no {helper}")
    for function in module.functions.values():
        if function.subprogram and places.has_users(function):
            _FunctionCounter(function, places, counted).instrument()
    return counted


class _FunctionCounter:
    """Counts in one function that has code of the user's: inlined in it, or its own."""

    def __init__(self, function: Function, places: SourceLines, counted: Counted) -> None:
        self._function = function
        self._places = places
        self._counted = counted
        self._private = PrivatePointers(function)
        # The calls have no line, but a function.
        self._located = f", !dbg !DILocation(line: 0, scope: {function.subprogram})"
        # Calls of Metal's functions, each of which is counted once: where it begins.
        self._begun: set[str] = set()
        self._segment = Segment()
        self._number = -1

    def instrument(self) -> None:
        """Insert the calls."""
        rewriter = Rewriter(self._function)
        for block in self._function.blocks.values():
            begins = True
            for each in block.instructions:
                if isinstance(each, Phi):
                    continue
                if begins and not isinstance(each, Alloca):
                    rewriter.insert_before(each, self._begin())
                    begins = False
                rewriter.insert_before(each, *self._count(each))
                if isinstance(each, CallInstruction):
                    begins |= not (each.name.startswith("llvm.") or " asm " in each.text)
        rewriter.apply()

    def _begin(self) -> str:
        self._number = len(self._counted.segments)
        self._segment = Segment()
        self._counted.segments.append(self._segment)
        return f"call void @{_COUNT_SEGMENT}(i32 {self._number}){self._located}"

    def _count(self, each: Instruction) -> Iterator[str]:
        place = self._places.find(each.place) if each.place else None
        if place is None:
            return
        if place.event and place.instance not in self._begun:
            self._begun.add(place.instance)
            self._segment.add(place, place.event, place.count)
        if place.event == "atomic":
            accessed = _find_atomic(each)
            if accessed is not None and f"{place.instance}a" not in self._begun:
                self._begun.add(f"{place.instance}a")
                address, type_ = accessed
                yield self._count_access(place, address, bytes_of(type_), ATOMIC)
            return
        if place.is_machinery:
            return
        for address, size, kind in _list_accesses(each):
            if not self._private.has(address.text):
                yield self._count_access(place, address, size, kind)
        if not place.event:
            self._count_arithmetic(each, place)

    def _count_access(self, place: AccessPlace, address: Value, size: int, kind: int) -> str:
        site = len(self._counted.sites)
        self._counted.sites.append(AccessSite(place.file, place.line, kind, size))
        numbers = f"i32 {size}, i32 {kind}, i32 {site}, i32 {self._number}"
        return f"call void @{_COUNT_ACCESS}({address}, {numbers}){self._located}"

    def _count_arithmetic(self, each: Instruction, place: AccessPlace) -> None:
        if isinstance(each, CallInstruction):
            _, _, intrinsic = each.name.partition("llvm.")
            name, _, types = intrinsic.partition(".")
            if each.result and name in _COUNTED_INTRINSICS:
                digits = types[1:].split("f")[0].split("i")[0]
                width = int(digits) if types.startswith("v") and digits.isdigit() else 1
                self._segment.add(place, _COUNTED_INTRINSICS[name], width)
        elif each.opcode in _OPERATIONS:
            width = each.type.count if "<" in each.text and isinstance(each.type, Vector) else 1
            self._segment.add(place, _OPERATIONS[each.opcode], width)


def _find_atomic(each: Instruction) -> tuple[Value, Type] | None:
    """Return the address and the type of an atomic access; None for another instruction."""
    if isinstance(each, Memory) and each.is_atomic:
        return (each.address, each.accessed) if each.address.is_local else None
    if isinstance(each, Atomic) and each.opcode != "fence" and each.operands[0].is_local:
        return each.operands[0], each.operands[1].type
    return None


def _list_accesses(each: Instruction) -> list[tuple[Value, int, int]]:
    """Return the addresses that an instruction accesses, each with its bytes and its kind."""
    if isinstance(each, Memory):
        if each.is_atomic or not each.address.is_local:
            return []
        kind = READ if each.opcode == "load" else WRITE
        return [(each.address, bytes_of(each.accessed), kind)]
    if isinstance(each, CallInstruction) and each.name.startswith((*_COPIES, _FILL)):
        size = each.operands[2].integer
        if size is None:
            return []
        to, source = each.operands[:2]
        if each.name.startswith(_FILL):
            return [(to, size, WRITE)]
        return [(source, size, READ), (to, size, WRITE)]
    return []


def bytes_of(type_: Type) -> int:
    """Return the bytes that a load or a store of a type accesses; 0 if it is not known."""
    if isinstance(type_, Int):
        return {1: 1, 8: 1, 16: 2, 32: 4, 64: 8}.get(type_.bits, 0)
    if isinstance(type_, Float):
        return type_.bits // 8
    if isinstance(type_, Pointer):
        return 8
    if isinstance(type_, Vector | ArrayType):
        return type_.count * bytes_of(type_.element)
    return 0


class PrivatePointers:
    """Pointers of a function to its own stack, through members and variables that are set once."""

    def __init__(self, function: Function) -> None:
        self._allocas: set[str] = set()
        self._from: dict[str, str] = {}
        self._loaded: dict[str, str] = {}
        stored: dict[str, list[str]] = {}
        for _, each in function.instructions:
            if isinstance(each, Alloca):
                self._allocas.add(each.result)
            elif isinstance(each, ElementPointer):
                self._from[each.result] = each.base.text
            elif isinstance(each, Memory) and not each.is_atomic and each.accessed == POINTER:
                if each.opcode == "load":
                    self._loaded[each.result] = each.address.text
                else:
                    stored.setdefault(each.address.text, []).append(each.operands[0].text)
        # The value of a variable that is set once, and whose address is not used otherwise.
        self._held = {
            slot: values[0]
            for slot, values in stored.items()
            if slot in self._allocas and len(values) == 1 and not _has_other_uses(function, slot)
        }

    def has(self, pointer: str) -> bool:
        """Return whether a pointer is one, or one to what an array is initialised from."""
        for _ in range(_MOST_STEPS):
            if pointer in self._allocas or pointer.startswith("@__const."):
                return True
            if pointer in self._from:
                pointer = self._from[pointer]
            elif self._loaded.get(pointer) in self._held:
                pointer = self._held[self._loaded[pointer]]
            else:
                return False
        return False


def _has_other_uses(function: Function, slot: str) -> bool:
    """Return whether a variable is used otherwise than loaded and set as a whole."""
    for each in function.users_of(slot):
        if not isinstance(each, Memory) or each.is_atomic or each.address.text != slot:
            return True
        if each.opcode == "store" and each.operands[0].text == slot:
            return True
    return False


class SourceLines:
    """Finds the user's line of an instruction by its debug location."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self.find = cache(self._find)
        self._function_of = cache(metadata.function_of)

    def has_users(self, function: Function) -> bool:
        """Return whether a function has an instruction of the user's source."""
        return any(
            each.place and self.find(each.place) is not None for _, each in function.instructions
        )

    def _find(self, reference: str) -> AccessPlace | None:
        """Return the place; None for an instruction of the launch's own code."""
        metals: tuple[str, str] | None = None
        at = reference
        while at:
            location = self._metadata.location(at)
            if location is None:
                return None
            file, name = self._function_of(location.scope)
            if not is_own(file):
                return _name_event(file, location.line, metals)
            at = location.inlined_at
            metals = name, f"{file}\n{at or None}"
        return None


def _name_event(file: str, line: int, metals: tuple[str, str] | None) -> AccessPlace:
    """Return the place of an instruction that is in a function of Metal's, or in none."""
    if metals is None:
        return AccessPlace(file, line)
    full, instance = metals
    name, _, arguments = full.partition("<")
    header = instance.split("\n")[0].rsplit("/", 1)[-1]
    event = _BY_NAME.get(name) or _BY_FILE.get(header) or ("special" if name in _SPECIAL else "")
    if name == "operator*" and header == "matrix_functions.h":
        event = "matrix_multiply"
    components = _COMPONENTS.search(arguments) if event == "special" else None
    return AccessPlace(
        file,
        line,
        event,
        instance,
        int(components[1]) if components else 1,
        name in _MACHINERY or (header in _MACHINERY_FILES and not event),
    )
