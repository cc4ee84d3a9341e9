"""Mach-O, as far as lines of code are concerned: a kernel's library and the object it came from.

Apple's format is that of <mach-o/loader.h> and <mach-o/nlist.h>. Linkers leave debug information in
the object file; its addresses become those of the library by the names of the functions.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from metalbench.msl.building.elf import Contents

_MAGIC = 0xFEEDFACF
_SEGMENT, _SYMBOLS = 0x19, 0x2
_DEBUGGING_SYMBOL, _IN_SECTION, _UNDEFINED = 0xE0, 0x0E, 0x00
# Addresses of what runs when a library is loaded or unloaded.
_AT_LOADING = frozenset({"__mod_init_func", "__mod_term_func", "__init_offsets"})


class Section(NamedTuple):
    """A section's place in memory and in the file, in bytes."""

    name: str
    address: int
    size: int
    offset: int
    segment: str


class MachO:
    """The sections and symbols of a 64-bit file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.sections: list[Section] = []
        # Names and addresses of what is defined in __text.
        self.functions: dict[str, int] = {}
        # Names of what is defined in __DATA, and of what is defined nowhere here.
        self.variables: set[str] = set()
        self.imports: set[str] = set()
        stream.seek(16)
        (commands,) = struct.unpack("<I", stream.read(4))
        position = 32
        for _ in range(commands):
            stream.seek(position)
            kind, size = struct.unpack("<II", stream.read(8))
            body = stream.read(size - 8)
            if kind == _SEGMENT:
                self._read_sections(body)
            elif kind == _SYMBOLS:
                self._read_symbols(stream, *struct.unpack_from("<IIII", body))
            position += size

    def _read_sections(self, body: bytes) -> None:
        (count,) = struct.unpack_from("<I", body, 56)
        for i in range(count):
            name, segment, address, size, offset = struct.unpack_from(
                "<16s16sQQI", body, 64 + 80 * i
            )
            self.sections.append(Section(_text(name), address, size, offset, _text(segment)))

    def _read_symbols(self, stream: BinaryIO, start: int, count: int, text: int, size: int) -> None:
        stream.seek(text)
        names = stream.read(size)
        stream.seek(start)
        table = stream.read(16 * count)
        for name, kind, section, _, value in struct.iter_unpack("<IBBHQ", table):
            if kind & _DEBUGGING_SYMBOL:
                continue
            label = _text(names[name : name + 4096])
            if kind & _IN_SECTION == _UNDEFINED:
                self.imports.add(label)
            elif kind & _IN_SECTION != _IN_SECTION:
                continue
            elif self.sections[section - 1].name == "__text":
                self.functions[label] = value
            elif self.sections[section - 1].segment == "__DATA":
                self.variables.add(label)


def contents(library: Path) -> Contents:
    """What matters of a library before it is loaded; names without Mach-O's underscore."""
    with library.open("rb") as stream:
        file = MachO(stream)
    return Contents(
        frozenset(name.removeprefix("_") for name in file.imports),
        frozenset(name.removeprefix("_") for name in file.variables),
        sum(section.size for section in file.sections if section.name in _AT_LOADING),
    )


def is_mach_o(stream: BinaryIO) -> bool:
    """Whether a file begins as 64-bit Mach-O does; leaves the stream at its start."""
    begin = stream.read(4)
    stream.seek(0)
    return begin == struct.pack("<I", _MAGIC)


def debug_information(library: Path) -> tuple[Any, Callable[[int], int]]:
    """The debug information in the object beside a library, and how its addresses map to those.

    None in its place when the object is not there.
    """
    object_file = library.with_suffix(".o")
    if not object_file.exists():
        return None, lambda address: address
    with object_file.open("rb") as stream, library.open("rb") as linked:
        origin = MachO(stream)
        return _dwarf(origin, stream), _places(origin.functions, MachO(linked).functions)


def _places(origin: dict[str, int], linked: dict[str, int]) -> Callable[[int], int]:
    pairs = sorted((address, linked[name]) for name, address in origin.items() if name in linked)
    begins = [address for address, _ in pairs]

    def place(address: int) -> int:
        which = bisect_right(begins, address) - 1
        if which < 0:
            return address
        begin, target = pairs[which]
        return target + address - begin

    return place


def _dwarf(file: MachO, stream: BinaryIO) -> Any:
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    found = {}
    for section in file.sections:
        if section.name.startswith("__debug_"):
            stream.seek(section.offset)
            found[_elf_name(section.name)] = DebugSectionDescriptor(
                BytesIO(stream.read(section.size)), section.name, 0, section.size, section.address
            )
    if "debug_info" not in found:
        return None
    known = (name for name in signature(DWARFInfo).parameters if name.endswith("_sec"))
    config = DwarfConfig(little_endian=True, machine_arch="AArch64", default_address_size=8)
    return DWARFInfo(config, **{name: found.get(name.removesuffix("_sec")) for name in known})


def _elf_name(name: str) -> str:
    # Names in the file have at most 16 letters.
    return {"__debug_str_offs": "debug_str_offsets"}.get(name, name.removeprefix("__"))


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode()
