"""Read Mach-O libraries: their contents before loading, and the debug information of their object.

The format is that of <mach-o/loader.h> and <mach-o/nlist.h>. Apple's linker leaves debug
information in the object file. Its addresses are mapped to those of the library by the functions'
names.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from metalbench.msl.toolchain.elf import ObjectContents

_MAGIC = 0xFEEDFACF
_LC_SEGMENT, _LC_SYMTAB, _LC_LOAD_DYLIB = 0x19, 0x2, 0xC
_DEBUGGING_SYMBOL, _IN_SECTION, _UNDEFINED = 0xE0, 0x0E, 0x00
_EXTERNAL, _PRIVATE = 0x01, 0x10
# Load commands of a library: LC_SYMTAB, DYSYMTAB, LOAD_DYLIB, ID_DYLIB, LOAD_DYLINKER, SEGMENT_64,
# UUID, CODE_SIGNATURE, SEGMENT_SPLIT_INFO, DYLD_INFO(_ONLY), VERSION_MIN_MACOSX, FUNCTION_STARTS,
# DATA_IN_CODE, SOURCE_VERSION, BUILD_VERSION, DYLD_EXPORTS_TRIE, DYLD_CHAINED_FIXUPS. No
# LC_ROUTINES_64, RPATH, LOAD_WEAK_DYLIB, REEXPORT_DYLIB, DYLD_ENVIRONMENT.
_COMMANDS = frozenset(
    {
        0x2,
        0xB,
        0xC,
        0xD,
        0xE,
        0x19,
        0x1B,
        0x1D,
        0x1E,
        0x22,
        0x80000022,
        0x24,
        0x26,
        0x29,
        0x2A,
        0x32,
    }
    | {0x80000033, 0x80000034}
)
_SYSTEM = "/usr/lib/libSystem.B.dylib"
# Section types: regular, zero-filled, literals (5), symbol pointers (2) and stubs, coalesced, and
# initialisers. Not interposing, not thread-local variables.
_SECTION_TYPES = frozenset({0x0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, 0x9, 0xA, 0xB, 0xE, 0x16})
# Section types of initialisers and terminators, with the bytes of one entry.
_INITIALISER_SIZES = {0x9: 8, 0xA: 8, 0x16: 4}
_INITIALISERS = frozenset({0x9, 0x16})
_EXECUTE, _WRITE = 0x4, 0x2


class Section(NamedTuple):
    """A section's place in memory and in the file, in bytes."""

    name: str
    address: int
    size: int
    offset: int
    segment: str
    kind: int = 0


class MachO:
    """The sections and symbols of a 64-bit Mach-O file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.sections: list[Section] = []
        # Names and addresses of the functions in __text.
        self.functions: dict[str, int] = {}
        # Names of variables in __DATA, of undefined symbols, and of exported symbols.
        self.variables: set[str] = set()
        self.imports: set[str] = set()
        self.exports: set[str] = set()
        # Descriptions of what no kernel has.
        self.unexpected: list[str] = []
        stream.seek(16)
        (commands,) = struct.unpack("<I", stream.read(4))
        position = 32
        for _ in range(commands):
            stream.seek(position)
            kind, size = struct.unpack("<II", stream.read(8))
            body = stream.read(size - 8)
            if kind not in _COMMANDS:
                self.unexpected.append(f"load command {kind:#x}")
            elif (
                kind == _LC_LOAD_DYLIB
                and _read_string(body[struct.unpack_from("<I", body)[0] - 8 :]) != _SYSTEM
            ):
                self.unexpected.append("a library that it loads")
            if kind == _LC_SEGMENT:
                self._read_sections(body)
            elif kind == _LC_SYMTAB:
                self._read_symbols(stream, *struct.unpack_from("<IIII", body))
            position += size

    def _read_sections(self, body: bytes) -> None:
        protection, count = struct.unpack_from("<I4xI", body, 48)
        if protection & _EXECUTE and protection & _WRITE:
            self.unexpected.append("memory that is written and executed")
        for i in range(count):
            name, segment, address, size, offset, flags = struct.unpack_from(
                "<16s16sQQI12xI", body, 64 + 80 * i
            )
            kind = flags & 0xFF
            if kind not in _SECTION_TYPES:
                self.unexpected.append(f"section {_read_string(name)} of type {kind:#x}")
            section = Section(
                _read_string(name), address, size, offset, _read_string(segment), kind
            )
            self.sections.append(section)

    def _read_symbols(self, stream: BinaryIO, start: int, count: int, text: int, size: int) -> None:
        stream.seek(text)
        names = stream.read(size)
        stream.seek(start)
        table = stream.read(16 * count)
        for name, kind, section, _, value in struct.iter_unpack("<IBBHQ", table):
            if kind & _DEBUGGING_SYMBOL:
                continue
            label = _read_string(names[name : name + 4096])
            if kind & _EXTERNAL and not kind & _PRIVATE and kind & _IN_SECTION != _UNDEFINED:
                self.exports.add(label)
            if kind & _IN_SECTION == _UNDEFINED:
                self.imports.add(label)
            elif kind & _IN_SECTION != _IN_SECTION:
                continue
            elif self.sections[section - 1].name == "__text":
                self.functions[label] = value
            elif self.sections[section - 1].segment == "__DATA":
                self.variables.add(label)


def read_contents(library: Path) -> ObjectContents:
    """Read a library's contents before it is loaded; names are without Mach-O's underscore."""
    with library.open("rb") as stream:
        file = MachO(stream)
        at_loading = [each for each in file.sections if each.kind in _INITIALISER_SIZES]
        counts = [each.size // _INITIALISER_SIZES[each.kind] for each in at_loading]
        names: tuple[str, ...] = ("",) * sum(counts)
        if len(names) == 1 and at_loading[0].kind in _INITIALISERS:
            names = (_find_initialiser(file, stream, at_loading[0]),)
    return ObjectContents(
        _strip_underscores(file.imports),
        _strip_underscores(file.exports),
        _strip_underscores(file.variables),
        names,
        (*file.unexpected,),
    )


def _find_initialiser(file: MachO, stream: BinaryIO, section: Section) -> str:
    """Return the name of the only function in a section of initialisers.

    A pointer is stored as an address, or as a chained fixup (<mach-o/fixup-chains.h>) whose lower
    36 bits are the offset from the base.
    """
    stream.seek(section.offset)
    size = _INITIALISER_SIZES[section.kind]
    stored = int.from_bytes(stream.read(size), "little") & (2**36 - 1)
    named = {address: name for name, address in file.functions.items()}
    return named.get(stored, "").removeprefix("_")


def _strip_underscores(names: set[str]) -> frozenset[str]:
    return frozenset(name.removeprefix("_") for name in names)


def is_mach_o(stream: BinaryIO) -> bool:
    """Return whether a file begins as 64-bit Mach-O; leave the stream at its start."""
    begin = stream.read(4)
    stream.seek(0)
    return begin == struct.pack("<I", _MAGIC)


def read_debug_information(library: Path) -> tuple[Any, Callable[[int], int]]:
    """Return the debug information of a library's object file, and the map of its addresses.

    The former is None if there is no object file.
    """
    object_file = library.with_suffix(".o")
    if not object_file.exists():
        return None, lambda address: address
    with object_file.open("rb") as stream, library.open("rb") as linked:
        origin = MachO(stream)
        return _read_dwarf(origin, stream), _map_addresses(
            origin.functions, MachO(linked).functions
        )


def _map_addresses(origin: dict[str, int], linked: dict[str, int]) -> Callable[[int], int]:
    pairs = sorted((address, linked[name]) for name, address in origin.items() if name in linked)
    begins = [address for address, _ in pairs]

    def place(address: int) -> int:
        which = bisect_right(begins, address) - 1
        if which < 0:
            return address
        begin, target = pairs[which]
        return target + address - begin

    return place


def _read_dwarf(file: MachO, stream: BinaryIO) -> Any:
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    found = {}
    for section in file.sections:
        if section.name.startswith("__debug_"):
            stream.seek(section.offset)
            found[_rename_section(section.name)] = DebugSectionDescriptor(
                BytesIO(stream.read(section.size)), section.name, 0, section.size, section.address
            )
    if "debug_info" not in found:
        return None
    known = (name for name in signature(DWARFInfo).parameters if name.endswith("_sec"))
    config = DwarfConfig(little_endian=True, machine_arch="AArch64", default_address_size=8)
    return DWARFInfo(config, **{name: found.get(name.removesuffix("_sec")) for name in known})


def _rename_section(name: str) -> str:
    # Names in the file have at most 16 letters.
    return {"__debug_str_offs": "debug_str_offsets"}.get(name, name.removeprefix("__"))


def _read_string(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode()
