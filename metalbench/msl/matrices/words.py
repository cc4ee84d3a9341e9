"""A lane's word of an 8 x 8 matrix: `ldmatrix` from threadgroup memory, else its two elements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.msl.matrices.alignment import Alignment
from metalbench.msl.matrices.text import NAME, Line

CALLED = "@mb_matrix_word("
_CALL = re.compile(
    rf"(\s*)({NAME}) = [^\n]*@mb_matrix_word\(ptr (?:(?:noundef|nonnull) )*(.+?), "
    r"i64 (?:\w+ )*(\S+), i1 (?:\w+ )*(\S+)\)"
)
# Powers of two: bytes of an element, and of a row that `ldmatrix` takes.
_ELEMENT, _ROW = 1, 4
_SHARED = "addrspacecast (ptr addrspace(3) @"
_POINTER = re.compile(rf"\bptr (?:\w+ )*({NAME})")
_INCOMING = re.compile(rf"\[ ({NAME}|\S.*?), {NAME} \]")
LANE = "@llvm.nvvm.read.ptx.sreg.laneid()"
# What several matrices at once come as.
TYPES = {1: "i32", 2: "{ i32, i32 }", 4: "{ i32, i32, i32, i32 }"}


def ldmatrix(count: int, transpose: bool) -> str:
    """The function that reads so many matrices."""
    way = "trans." if transpose else ""
    return f"@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}.{way}b16.p3"


DECLARATIONS = {
    ldmatrix(count, way): f"declare {kind} {ldmatrix(count, way)}(ptr addrspace(3))"
    for count, kind in TYPES.items()
    for way in (False, True)
} | {"@llvm.nvvm.read.ptx.sreg.laneid": "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()"}


def in_threadgroup(pointer: str, given: Mapping[str, Line]) -> bool:
    """Whether a generic pointer leads to threadgroup memory, whatever way it came about."""
    seen: set[str] = set()
    left = [pointer]
    while left:
        text = left.pop()
        if text in seen:
            continue
        seen.add(text)
        if _SHARED in text:
            continue
        line = given.get(text)
        if line is None:
            return False
        origin = _origins(line)
        if origin is None:
            return False
        left += origin
    return True


def _origins(line: Line) -> list[str] | None:
    """What a pointer was made of: nothing more if of threadgroup memory, None if unknown."""
    of = line.text.partition(" = ")[2]
    if _SHARED in of or of.startswith("addrspacecast ptr addrspace(3) "):
        return []
    if of.startswith("getelementptr "):
        found = _POINTER.search(of)
        return [found[1]] if found else None
    if of.startswith("phi ptr "):
        return [each[1] for each in _INCOMING.finditer(of)]
    if of.startswith("select "):
        return _POINTER.findall(of)
    return None


@dataclass(frozen=True)
class Word:
    """A call: what it gives, of which matrix."""

    result: str
    pointer: str
    stride: str
    transpose: bool

    def is_for_ldmatrix(self, given: Mapping[str, Line]) -> bool:
        """Whether its rows lie in threadgroup memory and begin where that takes them."""
        known = Alignment(given)
        apart = known.zeros(self.stride) + _ELEMENT
        aligned = min(known.pointer(self.pointer), apart) >= _ROW
        return aligned and in_threadgroup(self.pointer, given)


def word_of(line: Line) -> Word:
    """What a call asks for."""
    call = _CALL.match(line.text)
    assert call is not None, line.text
    _, result, pointer, stride, transpose = call.groups()
    assert transpose in ("true", "false"), line.text
    return Word(result, pointer, stride, transpose == "true")


def lowered(line: Line, given: Mapping[str, Line]) -> list[str]:
    """The instructions that a call becomes."""
    word = word_of(line)
    made = _Maker(word.result)
    if word.is_for_ldmatrix(given):
        return made.ldmatrix(word.pointer, word.stride, word.transpose)
    return made.elements(word.pointer, word.stride, word.transpose)


class _Maker:
    """Instructions of which the last gives `result`."""

    def __init__(self, result: str) -> None:
        self.result = result
        self.lines: list[str] = []

    def value(self, text: str) -> str:
        quoted = self.result.startswith('%"')
        stem = self.result[:-1] if quoted else self.result
        name = f"{stem}.{len(self.lines)}" + ('"' if quoted else "")
        self.lines.append(f"  {name} = {text}")
        return name

    def last(self, text: str) -> list[str]:
        return [*self.lines, f"  {self.result} = {text}"]

    def element(self, row: str, column: str, pointer: str, stride: str) -> str:
        down = self.value(f"mul i64 {row}, {stride}")
        at = self.value(f"add i64 {down}, {column}")
        return self.value(f"getelementptr i16, ptr {pointer}, i64 {at}")

    def lane(self) -> str:
        lane = self.value(f"call i32 {LANE}")
        return self.value(f"zext i32 {lane} to i64")

    def ldmatrix(self, pointer: str, stride: str, transpose: bool) -> list[str]:
        """Eight lanes tell where rows begin; the others tell the same."""
        row = self.value(f"and i64 {self.lane()}, 7")
        address = self.element(row, "0", pointer, stride)
        shared = self.value(f"addrspacecast ptr {address} to ptr addrspace(3)")
        return self.last(f"call i32 {ldmatrix(1, transpose)}(ptr addrspace(3) {shared})")

    def elements(self, pointer: str, stride: str, transpose: bool) -> list[str]:
        lane = self.lane()
        row = self.value(f"lshr i64 {lane}, 2")
        quarter = self.value(f"and i64 {lane}, 3")
        column = self.value(f"shl i64 {quarter}, 1")
        words = []
        for i in range(2):
            along = self.value(f"add i64 {column}, {i}")
            place = (along, row) if transpose else (row, along)
            address = self.element(*place, pointer, stride)
            half = self.value(f"load i16, ptr {address}, align 2")
            words.append(self.value(f"zext i16 {half} to i32"))
        high = self.value(f"shl i32 {words[1]}, 16")
        return self.last(f"or i32 {words[0]}, {high}")
