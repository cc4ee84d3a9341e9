"""Lower a lane's words of 8 x 8 matrices to `ldmatrix`, or to loads of two elements.

`ldmatrix` reads one, two or four matrices from threadgroup memory. Every eight lanes pass the
addresses of the rows of one matrix, each a multiple of 16 bytes (PTX ISA, "ldmatrix"). Where
matrices lie at known distances from each other, a lane's part of the address is computed once, at
the beginning of the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metalbench.msl.ir.model import ElementPointer, Instruction
from metalbench.msl.ir.read_instruction import read_constant
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import ArrayType, Float, Int, Layout, Pointer, Type, Vector
from metalbench.msl.transforms.block_order import has_side_effects, is_matrix_word

_Definitions: TypeAlias = Mapping[str, Instruction]
_LANE = "@llvm.nvvm.read.ptx.sreg.laneid"
_SHARED = Pointer(3)
# The type of what `ldmatrix` returns, by the number of matrices.
_WORDS = {1: "i32", 2: "{ i32, i32 }", 4: "{ i32, i32, i32, i32 }"}
_MOST_MATRICES = 4
_ELEMENT_BYTES = 2
# Trailing zeros of the address: of a row that `ldmatrix` reads, of every variable in threadgroup
# memory (MB_THREADGROUP), and the most that are counted, which zero has.
_ROW_ZEROS, _VARIABLE_ZEROS, _MOST_ZEROS = 4, 4, 16


def _name_ldmatrix(count: int, transpose: bool) -> str:
    """Return the intrinsic that reads a number of matrices."""
    way = "trans." if transpose else ""
    return f"@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}.{way}b16.p3"


DECLARATIONS = {
    _name_ldmatrix(count, way): f"declare {type_} {_name_ldmatrix(count, way)}(ptr addrspace(3))"
    for count, type_ in _WORDS.items()
    for way in (False, True)
} | {_LANE: f"declare i32 {_LANE}()"}


class _TrailingZeros:
    """Trailing zero bits of a function's values, at least."""

    def __init__(self, definitions: _Definitions) -> None:
        self._definitions = definitions
        # A value that depends on itself, around a loop, is taken to be zero there.
        self._open: set[str] = set()

    def count(self, value: str) -> int:
        """Return the trailing zeros of an integer or of a local value."""
        if value in self._open:
            return _MOST_ZEROS
        if not value.startswith("%"):
            return _zeros_of(int(value)) if value.lstrip("-").isdecimal() else 0
        instruction = self._definitions.get(value)
        if instruction is None:
            return 0
        self._open.add(value)
        try:
            return min(self._count_of(instruction), _MOST_ZEROS)
        finally:
            self._open.discard(value)

    def count_pointer(self, text: str) -> int:
        """Return the trailing zeros of an address, which may be a constant."""
        if text.startswith("%"):
            return self.count(text)
        constant = read_constant(text)
        return self._count_of(constant) if constant is not None else 0

    def _count_of(self, of: Instruction) -> int:  # noqa: PLR0911
        operands = [each.text for each in of.operands] if of.opcode in _COUNTED else []
        match of.opcode:
            case "getelementptr":
                return self._count_of_element(of)
            case "phi":
                return min(map(self.count_pointer, operands))
            case "select":
                return min(map(self.count_pointer, operands[1:]))
            case "zext" | "sext" | "trunc" | "freeze":
                return self.count(operands[0])
            case "addrspacecast":
                return self._count_of_base(of)
            case "shl":
                by = int(operands[1]) if operands[1].isdecimal() else 0
                return self.count(operands[0]) + by
            case "mul":
                return sum(map(self.count, operands))
            case "and":
                return max(map(self.count, operands))
            case "or" | "add" | "sub" | "xor":
                return min(map(self.count, operands))
        return 0

    def _count_of_element(self, of: Instruction) -> int:
        """Return the trailing zeros of an element's address, with one index; 0 with several."""
        size = _size_of(of.element) if isinstance(of, ElementPointer) else None
        if size is None or len(of.operands) != 2:
            return 0
        return min(self._count_of_base(of), self.count(of.operands[1].text) + _zeros_of(size))

    def _count_of_base(self, of: Instruction) -> int:
        """Return the trailing zeros of the address that an instruction starts from."""
        base = of.operands[0]
        if base.text.startswith("@"):
            return _VARIABLE_ZEROS if base.type == _SHARED else 0
        return self.count_pointer(base.text)


_COUNTED = frozenset(
    {
        *("getelementptr", "phi", "select", "zext", "sext", "trunc", "freeze", "addrspacecast"),
        *("shl", "mul", "and", "or", "add", "sub", "xor"),
    }
)
_LAYOUT = Layout({})


def _size_of(type_: Type) -> int | None:
    """Return the bytes from one element to the next: of numbers, their vectors and arrays."""
    scalar = type_.element if isinstance(type_, Vector | ArrayType) else type_
    if isinstance(scalar, Float) or (isinstance(scalar, Int) and scalar.bits >= 8):
        return _LAYOUT.size(type_)
    return None


def _zeros_of(number: int) -> int:
    return _MOST_ZEROS if number == 0 else (number & -number).bit_length() - 1


def _is_in_threadgroup_memory(pointer: str, definitions: _Definitions) -> bool:
    """Return whether a generic pointer can only point to threadgroup memory."""
    seen: set[str] = set()
    left = [pointer]
    while left:
        text = left.pop()
        if text in seen:
            continue
        seen.add(text)
        origin = definitions.get(text) or read_constant(text)
        if origin is None:
            return False
        match origin.opcode:
            case "addrspacecast" if origin.operands[0].type == _SHARED:
                pass
            case "getelementptr":
                left.append(origin.operands[0].text)
            case "phi":
                left += [each.text for each in origin.operands]
            case "select":
                left += [each.text for each in origin.operands[1:]]
            case _:
                return False
    return True


@dataclass(frozen=True)
class _Word:
    """A lane's word of a matrix: where the matrix is, and elements between its rows."""

    result: str
    pointer: str
    stride: str
    transpose: bool

    def is_for_ldmatrix(self, definitions: _Definitions) -> bool:
        """Return whether `ldmatrix` can read it: aligned rows in threadgroup memory."""
        zeros = _TrailingZeros(definitions)
        of_stride = zeros.count(self.stride) + _zeros_of(_ELEMENT_BYTES)
        is_aligned = min(zeros.count_pointer(self.pointer), of_stride) >= _ROW_ZEROS
        return is_aligned and _is_in_threadgroup_memory(self.pointer, definitions)


def _word_of(call: Instruction) -> _Word:
    """Return the word that a call asks for. Raises IrError."""
    operands = [each.text for each in call.operands]
    if len(operands) != 3 or operands[2] not in ("true", "false") or not call.result:
        raise IrError(f"no word of a matrix: {call.text.strip()!r}")
    pointer, stride, transpose = operands
    return _Word(call.result, pointer, stride, transpose == "true")


def lower_word(call: Instruction, definitions: _Definitions) -> list[str]:
    """Return the instructions that a call for one word becomes. Raises IrError."""
    word = _word_of(call)
    made = _WordWriter(word)
    if word.is_for_ldmatrix(definitions):
        return made.read_by_ldmatrix()
    return made.read_elements()


class _WordWriter:
    """Writes the instructions of which the last gives a word."""

    def __init__(self, word: _Word) -> None:
        self._word = word
        self._lines: list[str] = []

    def read_by_ldmatrix(self) -> list[str]:
        """Pass rows' addresses from eight lanes; the other lanes pass the same."""
        row = self._value(f"and i64 {self._lane()}, 7")
        address = self._address(row, "0")
        shared = self._value(f"addrspacecast ptr {address} to ptr addrspace(3)")
        name = _name_ldmatrix(1, self._word.transpose)
        return self._end(f"call i32 {name}(ptr addrspace(3) {shared})")

    def read_elements(self) -> list[str]:
        """Load the two elements of a lane, as `ldmatrix` distributes them."""
        lane = self._lane()
        row = self._value(f"lshr i64 {lane}, 2")
        quarter = self._value(f"and i64 {lane}, 3")
        column = self._value(f"shl i64 {quarter}, 1")
        words = []
        for i in range(2):
            along = self._value(f"add i64 {column}, {i}")
            place = (along, row) if self._word.transpose else (row, along)
            half = self._value(f"load i16, ptr {self._address(*place)}, align 2")
            words.append(self._value(f"zext i16 {half} to i32"))
        high = self._value(f"shl i32 {words[1]}, 16")
        return self._end(f"or i32 {words[0]}, {high}")

    def _value(self, text: str) -> str:
        result = self._word.result
        quote = '"' if result.startswith('%"') else ""
        name = f"{result.removesuffix(quote)}.{len(self._lines)}{quote}"
        self._lines.append(f"  {name} = {text}")
        return name

    def _end(self, text: str) -> list[str]:
        return [*self._lines, f"  {self._word.result} = {text}"]

    def _address(self, row: str, column: str) -> str:
        down = self._value(f"mul i64 {row}, {self._word.stride}")
        at = self._value(f"add i64 {down}, {column}")
        return self._value(f"getelementptr i16, ptr {self._word.pointer}, i64 {at}")

    def _lane(self) -> str:
        lane = self._value(f"call i32 {_LANE}()")
        return self._value(f"zext i32 {lane} to i64")


@dataclass(frozen=True)
class _Matrix:
    """A matrix that a call asks for: `offset` bytes behind what `root` points to."""

    word: _Word
    root: str
    offset: int

    @property
    def key(self) -> tuple[str, str, bool]:
        """Matrices of one key can be read at once."""
        return self.root, self.word.stride, self.word.transpose


@dataclass(frozen=True)
class MatrixGroup:
    """Matrices that one `ldmatrix` reads."""

    matrices: tuple[_Matrix, ...]

    @property
    def results(self) -> list[str]:
        """Return the values that the group gives."""
        return [each.word.result for each in self.matrices]

    @property
    def pattern(self) -> tuple[int, tuple[int, ...]]:
        """Return the bytes between rows, and from the first matrix to each."""
        first = self.matrices[0]
        stride = _ELEMENT_BYTES * int(first.word.stride)
        return stride, tuple(each.offset - first.offset for each in self.matrices)


# The number of the instruction that asks for a matrix, and the matrix.
_Asked: TypeAlias = tuple[int, _Matrix]


def find_groups(
    instructions: Sequence[Instruction],
    definitions: _Definitions,
    operands: Sequence[tuple[str, ...]] = (),
) -> dict[int, MatrixGroup]:
    """Return the groups of a block, by the number of the first instruction of each.

    The words of one of `operands` come from one group, in its order, where that is possible.
    `ldmatrix` returns words in neighbouring registers. An instruction takes an operand from such
    registers; words from elsewhere cost a move each.
    """
    found: dict[int, MatrixGroup] = {}
    waiting: dict[tuple[str, str, bool], list[_Asked]] = {}
    for at, each in enumerate(instructions):
        if is_matrix_word(each):
            matrix = _find_matrix(_word_of(each), definitions)
            if matrix is not None:
                waiting.setdefault(matrix.key, []).append((at, matrix))
        elif has_side_effects(each):
            found |= _group(waiting.values(), operands)
            waiting = {}
    return found | _group(waiting.values(), operands)


def _group(
    several: Iterable[Sequence[_Asked]], operands: Sequence[tuple[str, ...]]
) -> dict[int, MatrixGroup]:
    found = {}
    for asked in several:
        left = _sort_by_operands(asked, operands)
        while len(left) > 1:
            count = _MOST_MATRICES if len(left) >= _MOST_MATRICES else 2
            taken, left = left[:count], left[count:]
            found[min(at for at, _ in taken)] = MatrixGroup(tuple(matrix for _, matrix in taken))
    return found


def _sort_by_operands(asked: Sequence[_Asked], operands: Sequence[tuple[str, ...]]) -> list[_Asked]:
    """Return matrices in the order of the operands that they form, four before two, then others."""
    left = {matrix.word.result: (at, matrix) for at, matrix in asked}
    order: list[_Asked] = []
    for operand in sorted(operands, key=len, reverse=True):
        if all(word in left for word in operand):
            order += [left.pop(word) for word in operand]
    return order + list(left.values())


def _find_matrix(word: _Word, definitions: _Definitions) -> _Matrix | None:
    """Return the matrix of a word if its stride is known and `ldmatrix` can read it."""
    if not (word.stride.isdecimal() and word.is_for_ldmatrix(definitions)):
        return None
    root, offset = word.pointer, 0
    while step := _find_step(root, definitions):
        root, offset = step[0], offset + step[1]
    return _Matrix(word, root, offset)


def _find_step(pointer: str, definitions: _Definitions) -> tuple[str, int] | None:
    """Return what a pointer is a known number of bytes behind, and these."""
    made = definitions.get(pointer) or read_constant(pointer)
    if not isinstance(made, ElementPointer) or len(made.operands) != 2:
        return None
    base, index = made.operands
    size = _size_of(made.element)
    if size is None or index.integer is None:
        return None
    return base.text, size * index.integer


class Lanes:
    """Parts of addresses that depend on the lane: instructions for the beginning of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[tuple[int, tuple[int, ...]], str] = {}

    def bytes_of(self, pattern: tuple[int, tuple[int, ...]]) -> str:
        """Return the value that has a lane's bytes from the first matrix of a group."""
        if pattern not in self._known:
            self._known[pattern] = self._make(*pattern)
        return self._known[pattern]

    def _value(self, text: str) -> str:
        name = f"%mb.lane.{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _make(self, stride: int, offsets: tuple[int, ...]) -> str:
        lane = self._value(f"call i32 {_LANE}()")
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


def read_group(group: MatrixGroup, lanes: Lanes, number: int) -> list[str]:
    """Return the instructions that read a group; `number` makes their names unique."""
    first, count = group.matrices[0], len(group.matrices)
    stem, words = f"%mb.words.{number}", _WORDS[count]
    name = _name_ldmatrix(count, first.word.transpose)
    return [
        f"  {stem}.0 = getelementptr i8, ptr {first.root}, i64 {lanes.bytes_of(group.pattern)}",
        f"  {stem}.1 = getelementptr i8, ptr {stem}.0, i64 {first.offset}",
        f"  {stem}.2 = addrspacecast ptr {stem}.1 to ptr addrspace(3)",
        f"  {stem}.3 = call {words} {name}(ptr addrspace(3) {stem}.2)",
        *(
            f"  {result} = extractvalue {words} {stem}.3, {i}"
            for i, result in enumerate(group.results)
        ),
    ]
