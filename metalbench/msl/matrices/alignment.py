"""By what power of two the numbers and the pointers of a function can be divided."""

from __future__ import annotations

import re
from collections.abc import Mapping

from metalbench.msl.ir.text import split
from metalbench.msl.matrices.text import NAME, Line

# More than anybody asks for: what zero can be divided by.
MOST = 16
# Of every variable in threadgroup memory (MB_THREADGROUP).
_VARIABLE = 4
_VALUE = re.compile(rf"({NAME}|-?\d+)$")
_WORD = re.compile(r"\w+")
_BYTES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
_VECTOR = re.compile(r"[<\[](\d+) x (\w+)[>\]]")
_GEP = re.compile(r"getelementptr (?:inbounds |nuw |nusw )*(.*)")
_CONSTANT_GEP = re.compile(r"getelementptr (?:inbounds |nuw |nusw )*\((.*)\)$")
_SHARED = "addrspacecast (ptr addrspace(3) @"


class Alignment:
    """What is known of a function's values, given what makes each of them."""

    def __init__(self, given: Mapping[str, Line]) -> None:
        self._given = given
        # What a loop's values are is first taken to be the best, and then what else they are.
        self._open: set[str] = set()

    def zeros(self, value: str) -> int:
        """How many of its last bits are zero, at least."""
        if value in self._open:
            return MOST
        if not value.startswith("%"):
            return _zeros_of(int(value)) if re.fullmatch(r"-?\d+", value) else 0
        line = self._given.get(value)
        if line is None:
            return 0
        self._open.add(value)
        try:
            return min(self._made(line.text.partition(" = ")[2].partition(", !")[0]), MOST)
        finally:
            self._open.discard(value)

    def pointer(self, text: str) -> int:
        """The same of an address in threadgroup memory, or of a constant one."""
        if text.startswith("%"):
            return self.zeros(text)
        offsets = _CONSTANT_GEP.match(text)
        if offsets:
            return self._indexed(offsets[1])
        return _VARIABLE if _SHARED in text else 0

    def _made(self, of: str) -> int:
        opcode = of.partition(" ")[0]
        if opcode == "getelementptr":
            found = _GEP.match(of)
            return self._indexed(found[1]) if found else 0
        if opcode == "phi":
            return min(map(self.pointer, _incoming(of)))
        if opcode == "select":
            return min(self.pointer(_last(each)) for each in split(of)[1:])
        if opcode in ("zext", "sext", "trunc", "freeze"):
            return self.zeros(_last(of.partition(" to ")[0]))
        if opcode == "addrspacecast":
            return _VARIABLE if "addrspace(3) @" in of else 0
        return self._computed(opcode, of)

    def _computed(self, opcode: str, of: str) -> int:
        if opcode not in ("mul", "shl", "and", "or", "add", "sub", "xor"):
            return 0
        first, second = (_last(each) for each in split(of)[:2])
        if opcode == "shl":
            return self.zeros(first) + (int(second) if second.isdigit() else 0)
        one, other = self.zeros(first), self.zeros(second)
        return {"mul": one + other, "and": max(one, other)}.get(opcode, min(one, other))

    def _indexed(self, arguments: str) -> int:
        """Of an element, its base and one index: of more than one nothing is known."""
        element, base, *indices = split(arguments)
        size = _bytes_of(element)
        if size is None or len(indices) != 1:
            return 0
        moved = self.zeros(_last(indices[0])) + _zeros_of(size)
        return min(self.pointer(_pointer(base)), moved)


def _pointer(operand: str) -> str:
    return re.sub(r"^ptr (?:(?:noundef|nonnull) )*", "", operand)


def _last(operand: str) -> str:
    found = _VALUE.search(operand)
    return found[1] if found else _pointer(operand)


def _incoming(phi: str) -> list[str]:
    kind, _, rest = phi.partition("[")
    del kind
    return [split(each)[0] for each in re.findall(r"\[ (.*?) \](?:,|$)", f"[{rest}")]


def _bytes_of(element: str) -> int | None:
    vector = _VECTOR.fullmatch(element)
    if vector:
        return int(vector[1]) * _BYTES[vector[2]] if vector[2] in _BYTES else None
    return _BYTES.get(element)


def _zeros_of(number: int) -> int:
    return MOST if number == 0 else (number & -number).bit_length() - 1
