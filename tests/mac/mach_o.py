"""Read Mach-O files: load commands, symbols, and what a library tells dyld.

The formats are those of <mach-o/loader.h> and <mach-o/nlist.h>.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEGMENT, SYMBOL_TABLE, DYLD_INFO, CHAINED_FIXUPS = 0x19, 0x2, 0x80000022, 0x80000034
_MAGIC, _EXECUTE, _DYLIB, _BUNDLE, _MACOS = 0xFEEDFACF, 2, 6, 8, 1
_INSTALL_NAME, _RUN_PATH, _BUILD_VERSION = 0xD, 0x8000001C, 0x32
# LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB, LC_LAZY_LOAD_DYLIB, LC_LOAD_UPWARD_DYLIB.
_LIBRARIES = (0xC, 0x80000018, 0x8000001F, 0x20, 0x80000023)


@dataclass(frozen=True)
class Symbol:
    """One entry of a symbol table; C's `f` has the name `_f`."""

    name: str
    kind: int
    value: int

    @property
    def is_defined(self) -> bool:
        """Return whether a section of this file defines the symbol (N_SECT)."""
        return self.kind & 0xE0 == 0 and self.kind & 0x0E == 0x0E

    @property
    def is_undefined(self) -> bool:
        """Return whether another file must define the symbol (N_UNDF)."""
        return self.kind & 0xE0 == 0 and self.kind & 0x0E == 0

    @property
    def is_exported(self) -> bool:
        """Return whether other files see the definition (N_EXT without N_PEXT)."""
        return self.is_defined and self.kind & 0x11 == 0x01


@dataclass(frozen=True)
class Library:
    """The load commands of a library, bundle or program; `minimum_macos` is (major, minor)."""

    install_name: str | None
    libraries: tuple[str, ...]
    run_paths: tuple[str, ...]
    minimum_macos: tuple[int, int] | None
    undefined: frozenset[str]
    exported: frozenset[str]


def read_commands(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the kind and the offset of each load command of a 64-bit Mach-O file."""
    (count,) = struct.unpack_from("<I", data, 16)
    position = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, position)
        yield kind, position
        position += size


def read_symbols(data: bytes) -> list[Symbol]:
    """Return the symbols of a 64-bit Mach-O file, in the order of its table."""
    found = []
    for command, position in read_commands(data):
        if command == SYMBOL_TABLE:
            start, count, text, _ = struct.unpack_from("<4I", data, position + 8)
            entries = struct.iter_unpack("<IBBHQ", data[start : start + 16 * count])
            found += [
                Symbol(_text(data, text + name), kind, value) for name, kind, _, _, value in entries
            ]
    return found


def read_library(path: Path) -> Library:
    """Return what a dylib, bundle or program for one 64-bit architecture tells dyld.

    Raises ValueError for another kind of file.
    """
    data = path.read_bytes()
    if len(data) < 32 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise ValueError(f"{path}: expected a 64-bit Mach-O file, got something else")
    (kind,) = struct.unpack_from("<I", data, 12)
    if kind not in {_EXECUTE, _DYLIB, _BUNDLE}:
        raise ValueError(f"{path}: expected a linked file, got file type {kind}")
    install_name, minimum = None, None
    libraries: list[str] = []
    run_paths: list[str] = []
    for command, position in read_commands(data):
        if command in {_INSTALL_NAME, _RUN_PATH, *_LIBRARIES}:
            (offset,) = struct.unpack_from("<I", data, position + 8)
            name = _text(data, position + offset)
            if command == _INSTALL_NAME:
                install_name = name
            else:
                (run_paths if command == _RUN_PATH else libraries).append(name)
        elif command == _BUILD_VERSION:
            platform, version = struct.unpack_from("<II", data, position + 8)
            if platform == _MACOS:
                minimum = (version >> 16, version >> 8 & 0xFF)
    symbols = read_symbols(data)
    return Library(
        install_name,
        tuple(libraries),
        tuple(run_paths),
        minimum,
        frozenset(each.name for each in symbols if each.is_undefined),
        frozenset(each.name for each in symbols if each.is_exported),
    )


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
