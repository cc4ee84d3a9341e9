"""Load a kernel's Mach-O library as dyld does: memory at an address, with its pointers set.

The formats are those of <mach-o/loader.h>; opcodes of rebasing and binding stand there as well. It
knows what zig's linker leaves of a kernel: LC_SEGMENT_64, LC_SYMTAB and LC_DYLD_INFO_ONLY. Anything
else that would change memory is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mac.mach_o import CHAINED_FIXUPS, DYLD_INFO, SEGMENT, read_commands, read_symbols

_INITIALISERS = 0x9
_POINTER = 1
# Of both kinds of opcodes: the upper half of a byte.
_SET_TYPE, _SET_SEGMENT, _ADD = 0x10, 0x20, 0x30
_REBASE_ADD_SCALED, _REBASE, _REBASE_MANY = 0x40, 0x50, 0x60
_REBASE_ADD, _REBASE_MANY_SKIPPING = 0x70, 0x80
_BIND_NAME, _BIND_TYPE, _BIND_ADDEND, _BIND_SEGMENT, _BIND_ADD = 0x40, 0x50, 0x60, 0x70, 0x80
_BIND, _BIND_ADD_AFTER, _BIND_ADD_SCALED, _BIND_MANY_SKIPPING = 0x90, 0xA0, 0xB0, 0xC0


@dataclass(frozen=True)
class Image:
    """A library's memory at `base`, and the addresses of what it defines and of what runs first."""

    base: int
    memory: bytes
    symbols: Mapping[str, int]
    initialisers: tuple[int, ...]


def loaded(library: Path, base: int, imports: Mapping[str, int]) -> Image:
    """Load a library at `base`, with the addresses of what it may call.

    `imports` are by names without Mach-O's underscore. Raises KeyError for one that is not there,
    and ValueError for what this loader does not know.
    """
    data = library.read_bytes()
    segments, initialisers, tables = [], [], (0,) * 10
    for kind, start in read_commands(data):
        if kind == SEGMENT:
            address, size, offset, length = struct.unpack_from("<4Q", data, start + 24)
            segments.append((address, size, data[offset : offset + length]))
            initialisers += _initialisers(data, start)
        elif kind == DYLD_INFO:
            tables = struct.unpack_from("<10I", data, start + 8)
        elif kind == CHAINED_FIXUPS:
            raise ValueError(f"{library}: chained fixups")
    if tables[5]:
        raise ValueError(f"{library}: weak binding")
    memory = bytearray(max(address + size for address, size, _ in segments))
    for address, _, contents in segments:
        memory[address : address + len(contents)] = contents
    starts = [address for address, _, _ in segments]
    for at in _rebased(data[tables[0] : tables[0] + tables[1]], starts):
        (value,) = struct.unpack_from("<Q", memory, at)
        struct.pack_into("<Q", memory, at, value + base)
    for offset, size in (tables[2:4], tables[6:8]):
        for at, name, addend in _bound(data[offset : offset + size], starts):
            struct.pack_into("<Q", memory, at, imports[name.removeprefix("_")] + addend)
    first = tuple(struct.unpack_from("<Q", memory, at)[0] for at in initialisers)
    defined = [each for each in read_symbols(data) if each.is_defined]
    symbols = {each.name.removeprefix("_"): base + each.value for each in defined}
    return Image(base, bytes(memory), symbols, first)


def _initialisers(data: bytes, segment: int) -> Iterator[int]:
    """The addresses of pointers to functions that run when the library is loaded."""
    (count,) = struct.unpack_from("<I", data, segment + 64)
    for i in range(count):
        address, size, flags = struct.unpack_from("<QQ16xI", data, segment + 72 + 80 * i + 32)
        if flags & 0xFF == _INITIALISERS:
            yield from range(address, address + size, 8)


def _rebased(opcodes: bytes, segments: list[int]) -> Iterator[int]:
    """The addresses, in the file's terms, of pointers into the library itself."""
    reader, at = _Reader(opcodes), 0
    while reader.more:
        opcode, low = reader.opcode()
        count, step = 0, 8
        if opcode == 0:
            return
        if opcode == _SET_TYPE:
            _expect_pointers(low)
        elif opcode == _SET_SEGMENT:
            at = segments[low] + reader.number()
        elif opcode == _ADD:
            at += reader.number()
        elif opcode == _REBASE_ADD_SCALED:
            at += 8 * low
        elif opcode == _REBASE:
            count = low
        elif opcode == _REBASE_MANY:
            count = reader.number()
        elif opcode == _REBASE_ADD:
            count, step = 1, 8 + reader.number()
        elif opcode == _REBASE_MANY_SKIPPING:
            count = reader.number()
            step = 8 + reader.number()
        else:
            raise ValueError(f"rebase opcode {opcode:#x}")
        for _ in range(count):
            yield at
            at += step


def _bound(  # noqa: PLR0912 - a branch for each opcode
    opcodes: bytes, segments: list[int]
) -> Iterator[tuple[int, str, int]]:
    """The addresses, in the file's terms, of pointers to imports; their names and addends.

    Zeros end a list of what is bound at once, and separate what is bound lazily.
    """
    reader, at, name, addend = _Reader(opcodes), 0, "", 0
    while reader.more:
        opcode, low = reader.opcode()
        count, step = 0, 8
        if opcode in {_SET_TYPE, _ADD}:
            continue  # which library it is in
        if opcode == _SET_SEGMENT:
            reader.number()  # the library's number, if it is large
        elif opcode == _BIND_NAME:
            name = reader.text()
        elif opcode == _BIND_TYPE:
            _expect_pointers(low)
        elif opcode == _BIND_ADDEND:
            addend = reader.signed()
        elif opcode == _BIND_SEGMENT:
            at = segments[low] + reader.number()
        elif opcode == _BIND_ADD:
            at = (at + reader.number()) % 2**64
        elif opcode == _BIND:
            count = 1
        elif opcode == _BIND_ADD_AFTER:
            count, step = 1, 8 + reader.number()
        elif opcode == _BIND_ADD_SCALED:
            count, step = 1, 8 + 8 * low
        elif opcode == _BIND_MANY_SKIPPING:
            count = reader.number()
            step = 8 + reader.number()
        elif opcode != 0:
            raise ValueError(f"bind opcode {opcode:#x}")
        for _ in range(count):
            yield at, name, addend
            at = (at + step) % 2**64


def _expect_pointers(kind: int) -> None:
    if kind != _POINTER:
        raise ValueError(f"a fixup of type {kind}, not of a pointer")


class _Reader:
    """Opcodes, and the numbers and names between them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def more(self) -> bool:
        return self._at < len(self._data)

    def opcode(self) -> tuple[int, int]:
        byte = self._data[self._at]
        self._at += 1
        return byte & 0xF0, byte & 0x0F

    def number(self) -> int:
        """An unsigned number in LEB128."""
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def signed(self) -> int:
        """A signed number in LEB128."""
        start = self._at
        value = self.number()
        bits = 7 * (self._at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def text(self) -> str:
        end = self._data.index(b"\0", self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found
