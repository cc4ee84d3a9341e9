"""Matrices in threadgroup memory that one `ldmatrix` reads, two or four of them.

Every eight lanes tell it where the rows of one matrix begin. Where matrices lie at known distances
from each other, which of these a lane adds is known before any loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metalbench.msl.matrices import words
from metalbench.msl.matrices.block import writes
from metalbench.msl.matrices.text import NAME, Line

_MOST = 4
_ELEMENT_BYTES = 2
_BYTES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "<2 x half>": 4}
_STEP = re.compile(
    rf"getelementptr (?:inbounds |nuw |nusw )*([^,]+), ptr (?:\w+ )*?({NAME}), i64 (-?\d+)(?:,|$)"
)
# Of a variable in threadgroup memory itself.
_CONSTANT_STEP = re.compile(
    r"getelementptr (?:inbounds |nuw |nusw )*\(([^,]+), ptr (.+), i64 (-?\d+)\)$"
)


@dataclass(frozen=True)
class Matrix:
    """One that a call asks for: `offset` bytes behind what `root` points to."""

    word: words.Word
    root: str
    offset: int

    @property
    def key(self) -> tuple[str, str, bool]:
        """Those of one key can be read at once."""
        return self.root, self.word.stride, self.word.transpose


@dataclass(frozen=True)
class Group:
    """Matrices that are read at once."""

    matrices: tuple[Matrix, ...]

    @property
    def pattern(self) -> tuple[int, tuple[int, ...]]:
        """Bytes between rows, and from the first matrix to each."""
        first = self.matrices[0]
        stride = _ELEMENT_BYTES * int(first.word.stride)
        return stride, tuple(each.offset - first.offset for each in self.matrices)


# The number of the line that asks for a matrix, and that.
_Asked: TypeAlias = tuple[int, Matrix]


def groups_of(
    lines: Sequence[Line], given: Mapping[str, Line], operands: Sequence[tuple[str, ...]] = ()
) -> dict[int, Group]:
    """The groups of a block, by the number of the line where the first of each is asked for.

    The words of one of `operands` come from one group, in its order, where they can: what is read
    at once lies in neighbouring registers, as an instruction wants its operand's words to, and
    takes a move a word elsewhere.
    """
    found: dict[int, Group] = {}
    waiting: dict[tuple[str, str, bool], list[_Asked]] = {}
    for at, line in enumerate(lines):
        if words.CALLED in line.text:
            matrix = _matrix(words.word_of(line), given)
            if matrix is not None:
                waiting.setdefault(matrix.key, []).append((at, matrix))
        elif writes(line):
            found |= _grouped(waiting.values(), operands)
            waiting = {}
    return found | _grouped(waiting.values(), operands)


def _grouped(
    several: Iterable[Sequence[_Asked]], operands: Sequence[tuple[str, ...]]
) -> dict[int, Group]:
    found = {}
    for asked in several:
        left = _by_operands(asked, operands)
        while len(left) > 1:
            count = _MOST if len(left) >= _MOST else 2
            taken, left = left[:count], left[count:]
            found[min(at for at, _ in taken)] = Group(tuple(matrix for _, matrix in taken))
    return found


def _by_operands(asked: Sequence[_Asked], operands: Sequence[tuple[str, ...]]) -> list[_Asked]:
    """Matrices in the order of the operands that they are, fours before twos, and the others."""
    left = {matrix.word.result: (at, matrix) for at, matrix in asked}
    order: list[_Asked] = []
    for operand in sorted(operands, key=len, reverse=True):
        if all(word in left for word in operand):
            order += [left.pop(word) for word in operand]
    return order + list(left.values())


def _matrix(word: words.Word, given: Mapping[str, Line]) -> Matrix | None:
    if not (word.stride.isdecimal() and word.is_for_ldmatrix(given)):
        return None
    root, offset = word.pointer, 0
    while step := _step(root, given):
        root, offset = step[2], offset + _BYTES[step[1]] * int(step[3])
    return Matrix(word, root, offset)


def _step(pointer: str, given: Mapping[str, Line]) -> re.Match[str] | None:
    """What a pointer is so many elements behind of, if they are known."""
    line = given.get(pointer)
    step = _STEP.search(line.text) if line is not None else _CONSTANT_STEP.match(pointer)
    return step if step and step[1] in _BYTES else None


class Lanes:
    """What lanes add to a group's address: instructions for the beginning of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[tuple[int, tuple[int, ...]], str] = {}

    def bytes_of(self, pattern: tuple[int, tuple[int, ...]]) -> str:
        """The value that has a lane's bytes."""
        if pattern not in self._known:
            self._known[pattern] = self._made(*pattern)
        return self._known[pattern]

    def _value(self, text: str) -> str:
        name = f"%mb.lane.{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _made(self, stride: int, offsets: tuple[int, ...]) -> str:
        lane = self._value(f"call i32 {words.LANE}")
        row = self._value(f"and i32 {lane}, 7")
        rows = self._value(f"mul i32 {row}, {stride}")
        chosen: list[str] = [str(each) for each in offsets]
        bit = 8
        while len(chosen) > 1:
            own = self._value(f"and i32 {lane}, {bit}")
            is_first = self._value(f"icmp eq i32 {own}, 0")
            chosen = [
                self._value(f"select i1 {is_first}, i32 {a}, i32 {b}")
                for a, b in zip(chosen[::2], chosen[1::2], strict=True)
            ]
            bit *= 2
        total = self._value(f"add i32 {rows}, {chosen[0]}")
        return self._value(f"sext i32 {total} to i64")


def read(group: Group, lanes: Lanes, number: int) -> list[str]:
    """The instructions that read a group; `number` makes their names its own."""
    first, count = group.matrices[0], len(group.matrices)
    stem, kind = f"%mb.words.{number}", words.TYPES[len(group.matrices)]
    name = words.ldmatrix(count, first.word.transpose)
    return [
        f"  {stem}.0 = getelementptr i8, ptr {first.root}, i64 {lanes.bytes_of(group.pattern)}",
        f"  {stem}.1 = getelementptr i8, ptr {stem}.0, i64 {first.offset}",
        f"  {stem}.2 = addrspacecast ptr {stem}.1 to ptr addrspace(3)",
        f"  {stem}.3 = call {kind} {name}(ptr addrspace(3) {stem}.2)",
        *(
            f"  {each.word.result} = extractvalue {kind} {stem}.3, {i}"
            for i, each in enumerate(group.matrices)
        ),
    ]
