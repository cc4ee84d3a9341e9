"""Types of LLVM IR, read from their text, with their layout in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from metalbench.msl.ir.text import IrError, closing, split

POINTER_BYTES = 8
_FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 128, "fp128": 128}
_PLAIN = re.compile(
    r'i\d+|half|bfloat|float|double|x86_fp80|fp128|void|label|metadata|token|%"[^"]*"|%[\w.$-]+'
    r"|ptr(?: addrspace\((?P<space>\d+)\))?"
)
_SEQUENCE = re.compile(r"(\d+) x (.+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Int:
    """`iN`: an integer of N bits, signed or not."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True, slots=True)
class Float:
    """`half`, `bfloat`, `float`, `double`."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        """Its size."""
        return _FLOAT_BITS[self.name]


@dataclass(frozen=True, slots=True)
class Pointer:
    """`ptr`, into an address space."""

    space: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass(frozen=True, slots=True)
class Vector:
    """`<N x T>`."""

    count: int
    element: Type

    def __str__(self) -> str:
        return f"<{self.count} x {self.element}>"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`[N x T]`."""

    count: int
    element: Type

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """`{ T, ... }`, or `<{ T, ... }>` without padding."""

    members: tuple[Type, ...]
    packed: bool = False

    def __str__(self) -> str:
        inside = f"{{ {', '.join(map(str, self.members))} }}" if self.members else "{}"
        return f"<{inside}>" if self.packed else inside


@dataclass(frozen=True, slots=True)
class Named:
    """`%struct.S`: what the module defines under that name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Other:
    """`void`, `label`, `metadata`, `token`: what no memory holds."""

    name: str

    def __str__(self) -> str:
        return self.name


Type = Int | Float | Pointer | Vector | ArrayType | Struct | Named | Other
VOID = Other("void")
BOOL = Int(1)
POINTER = Pointer()


@cache
def type_of(text: str) -> Type:
    """The type that a text is. Raises IrError."""
    type_, rest = take_type(text)
    if rest:
        raise IrError(f"{rest!r} behind the type {type_}")
    return type_


def take_type(text: str) -> tuple[Type, str]:
    """The type that a text begins with, and what comes behind it. Raises IrError."""
    text = text.lstrip()
    if text[:1] in ("<", "[", "{"):
        end = closing(text, 0)
        return _compound(text[: end + 1]), text[end + 1 :].lstrip()
    found = _PLAIN.match(text)
    if found is None:
        raise IrError(f"no type: {text[:60]!r}")
    return _plain(found[0], found["space"]), text[found.end() :].lstrip()


@cache
def _plain(text: str, space: str | None) -> Type:
    if text.startswith("%"):
        return Named(text)
    if text.startswith("ptr"):
        return Pointer(int(space or 0))
    if text in _FLOAT_BITS:
        return Float(text)
    if text[0] == "i":
        return Int(int(text[1:]))
    return Other(text)


@cache
def _compound(text: str) -> Type:
    inside = text[1:-1].strip()
    if text[0] == "<" and inside.startswith("{"):
        return Struct(_members(inside), packed=True)
    if text[0] == "{":
        return Struct(_members(text))
    sequence = _SEQUENCE.match(inside)
    if sequence is None:
        raise IrError(f"no type: {text!r}")
    kind = Vector if text[0] == "<" else ArrayType
    return kind(int(sequence[1]), type_of(sequence[2]))


def _members(braced: str) -> tuple[Type, ...]:
    return tuple(type_of(each) for each in split(braced[1:-1]))


class NamedTypes(Mapping[str, Type]):
    """The types that a module names, each read at the first access to it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> Type:
        return type_of(self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@dataclass(frozen=True)
class Layout:
    """Sizes, alignments and offsets of types, given the types that a module names."""

    named: Mapping[str, Type]
    _known: dict[Type, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    def resolve(self, type_: Type) -> Type:
        """Return the definition of a named type. Raise IrError if the module lacks it."""
        while isinstance(type_, Named):
            if type_.name not in self.named:
                raise IrError(f"{type_}: the module does not say what it is")
            type_ = self.named[type_.name]
        return type_

    def size(self, type_: Type) -> int:
        """Return the bytes from one element of an array to the next."""
        return self._measure(type_)[0]

    def alignment(self, type_: Type) -> int:
        """Return the ABI alignment in bytes."""
        return self._measure(type_)[1]

    def member(self, type_: Type, index: int) -> tuple[int, Type]:
        """Return the offset in bytes of a part of a type, and the part's type."""
        type_ = self.resolve(type_)
        if isinstance(type_, Vector | ArrayType):
            return index * self.size(type_.element), type_.element
        if not isinstance(type_, Struct):
            raise IrError(f"{type_} has no parts")
        offset = 0
        for before in type_.members[:index]:
            offset = self._place(offset, before, packed=type_.packed) + self.size(before)
        member = type_.members[index]
        return self._place(offset, member, packed=type_.packed), member

    def _place(self, offset: int, type_: Type, *, packed: bool) -> int:
        return offset if packed else _up(offset, self.alignment(type_))

    def _measure(self, type_: Type) -> tuple[int, int]:
        """Size and alignment."""
        found = self._known.get(type_)
        if found is None:
            found = self._known[type_] = self._measure_type(self.resolve(type_))
        return found

    def _measure_type(self, type_: Type) -> tuple[int, int]:
        if isinstance(type_, Int | Float):
            size = _power(-(-type_.bits // 8))
            return size, min(size, 16)
        if isinstance(type_, Pointer):
            return POINTER_BYTES, POINTER_BYTES
        if isinstance(type_, Vector):
            bits = type_.count * _scalar_bits(type_.element)
            size = _power(-(-bits // 8))
            return size, size
        if isinstance(type_, ArrayType):
            size, alignment = self._measure(type_.element)
            return type_.count * size, alignment
        if isinstance(type_, Struct):
            return self._measure_struct(type_)
        raise IrError(f"{type_} has no size")

    def _measure_struct(self, type_: Struct) -> tuple[int, int]:
        end, largest = 0, 1
        for member in type_.members:
            end = self._place(end, member, packed=type_.packed) + self.size(member)
            largest = largest if type_.packed else max(largest, self.alignment(member))
        return _up(end, largest), largest


def _scalar_bits(type_: Type) -> int:
    if isinstance(type_, Int | Float):
        return type_.bits
    if isinstance(type_, Pointer):
        return 8 * POINTER_BYTES
    raise IrError(f"a vector of {type_}")


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _power(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()
