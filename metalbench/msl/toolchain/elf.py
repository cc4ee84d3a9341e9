"""Read ELF shared objects: imports, exports, variables and initialisers.

Everything that the dynamic loader acts on is compared with a list of the entries that kernels need;
all other entries are `unexpected`. The format is that of the System V ABI (elf(5)), 64 bits,
little-endian. Dynamic tags are those of <elf.h>, relocations those of the psABI of x86-64 (4.4) and
of AArch64 (5.7).

pyelftools, which `symbolize.py` uses for debug information, is too slow here: each build reads an
object, and `metalbench run relu` with an empty cache reads five. That takes 99 ms of processor time
with pyelftools, of which the import is 60 to 98 ms, and 2 ms with this module (medians of five
alternating runs on an AMD EPYC). `tests/frontend/test_elf.py` compares the two.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct("<4sBBBBB7xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_TAG = struct.Struct("<qQ")
_RELOCATION = struct.Struct("<QQq")
_SHARED_OBJECT = 3

_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
# LOAD, DYNAMIC, NOTE, PHDR, GNU_EH_FRAME, GNU_STACK, GNU_RELRO, GNU_PROPERTY.
_SEGMENT_TYPES = frozenset({1, 2, 4, 6, 0x6474E550, _STACK, 0x6474E552, 0x6474E553})
_EXECUTE, _WRITE = 0x1, 0x2

# PROGBITS, SYMTAB, STRTAB, RELA, HASH, DYNAMIC, NOTE, NOBITS, DYNSYM, INIT_ARRAY, RELR, GNU_HASH,
# X86_64_UNWIND. INIT_ARRAY is counted as code that runs at loading.
_SECTION_TYPES = frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 19, 0x6FFFFFF6, 0x70000001})
_RELOCATIONS, _SYMBOLS, _DYNAMIC_SYMBOLS = 4, 2, 11
_SECTION_WRITE, _ALLOCATED, _SECTION_EXECUTE, _THREAD_LOCAL = 0x1, 0x2, 0x4, 0x400

_TAGS = {
    0: "NULL",
    2: "PLTRELSZ",
    3: "PLTGOT",
    4: "HASH",
    5: "STRTAB",
    6: "SYMTAB",
    7: "RELA",
    8: "RELASZ",
    9: "RELAENT",
    10: "STRSZ",
    11: "SYMENT",
    20: "PLTREL",
    23: "JMPREL",
    24: "BIND_NOW",
    30: "FLAGS",
    35: "RELRSZ",
    36: "RELR",
    37: "RELRENT",
    0x6FFFFEF5: "GNU_HASH",
    0x6FFFFFF9: "RELACOUNT",
    0x6FFFFFFB: "FLAGS_1",
}
# For messages: tags that are not in the list above.
_REFUSED_TAGS = {
    1: "NEEDED",
    12: "INIT",
    13: "FINI",
    15: "RPATH",
    16: "SYMBOLIC",
    22: "TEXTREL",
    26: "FINI_ARRAY",
    28: "FINI_ARRAYSZ",
    29: "RUNPATH",
    32: "PREINIT_ARRAY",
    33: "PREINIT_ARRAYSZ",
    0x6FFFFEFC: "AUDIT",
    0x7FFFFFFD: "AUXILIARY",
    0x7FFFFFFF: "FILTER",
}
# The loader's tables that are read by section: STRTAB, SYMTAB, RELA, JMPREL and RELR, with the type
# of the section.
_TABLES = {5: 3, 6: _DYNAMIC_SYMBOLS, 7: _RELOCATIONS, 23: _RELOCATIONS, 36: 19}
_INIT_ARRAY, _INIT_ARRAY_BYTES = 25, 27
_FLAGS, _FLAGS_1 = 30, 0x6FFFFFFB
# DF_BIND_NOW and DF_1_NOW: not SYMBOLIC, TEXTREL, STATIC_TLS, INITFIRST, INTERPOSE.
_FLAG_BITS = {_FLAGS: 0x8, _FLAGS_1: 0x1}

# By machine: none, a symbol's address (64 bits, GLOB_DAT, JUMP_SLOT), and RELATIVE. No IRELATIVE,
# COPY, or any for thread-local variables.
_RELOCATION_TYPES = {62: frozenset({0, 1, 6, 7, 8}), 183: frozenset({0, 257, 1025, 1026, 1027})}
_RELATIVE = {62: 8, 183: 1027}

# NOTYPE, OBJECT, FUNC, SECTION, FILE: no GNU_IFUNC (10), TLS (6), COMMON (5).
_SYMBOL_TYPES = frozenset({0, 1, 2, 3, 4})
# LOCAL, GLOBAL, WEAK: no GNU_UNIQUE (10), which keeps an object loaded.
_BINDINGS = frozenset({0, 1, 2})
_OBJECT, _FUNCTION, _UNDEFINED = 1, 2, 0


class ObjectContents(NamedTuple):
    """The contents of a shared object that matter before it is loaded.

    `imports` are symbols from other objects, `exports` its visible symbols, and `variables` its
    writable objects. `initialisers` are the names of the functions that run at loading, empty
    strings for addresses without a symbol. `unexpected` describes everything that no kernel has.
    """

    imports: frozenset[str]
    exports: frozenset[str]
    variables: frozenset[str]
    initialisers: tuple[str, ...]
    unexpected: tuple[str, ...]


def read_contents(library: Path) -> ObjectContents:
    """Read a shared object. A malformed one is not an error: it is `unexpected`."""
    try:
        return _SharedObject(library.read_bytes()).contents()
    except (struct.error, IndexError, ValueError) as problem:
        nothing: frozenset[str] = frozenset()
        return ObjectContents(
            nothing, nothing, nothing, (), (f"a malformed object file ({problem})",)
        )


class _SharedObject:
    """The tables of a shared object."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        header = _HEADER.unpack_from(data)
        magic, width, order, kind, self._machine = *header[:3], *header[6:8]
        if (magic, width, order, kind) != (b"\x7fELF", 2, 1, _SHARED_OBJECT):
            raise ValueError("expected a shared object of 64 bits, little-endian")
        segments_at, sections_at = header[10:12]
        segments, sections, names_index = header[15], header[17], header[18]
        self._segments = [
            _SEGMENT.unpack_from(data, segments_at + _SEGMENT.size * i) for i in range(segments)
        ]
        self._sections = [
            _SECTION.unpack_from(data, sections_at + _SECTION.size * i) for i in range(sections)
        ]
        self._names_at = self._sections[names_index][4] if sections else 0

    def contents(self) -> ObjectContents:
        """Return the contents; raise struct.error, IndexError or ValueError if malformed."""
        imports, exports, variables = set(), set(), set()
        functions: dict[int, str] = {}
        strange = [*self._find_unexpected_segments(), *self._find_unexpected_sections()]
        writable = {i for i, each in enumerate(self._sections) if each[2] & _SECTION_WRITE}
        for kind, label, info, place, address in self._read_symbols():
            if info & 0xF not in _SYMBOL_TYPES or info >> 4 not in _BINDINGS:
                strange.append(f"symbol {label} of type {info & 0xF}, binding {info >> 4}")
            if place == _UNDEFINED:
                # The loader goes by the dynamic symbols alone.
                imports |= {label} if kind == _DYNAMIC_SYMBOLS and label else set()
                continue
            if kind == _DYNAMIC_SYMBOLS and label:
                exports.add(label)
            if info & 0xF == _FUNCTION:
                functions.setdefault(address, label)
            if place in writable and info & 0xF == _OBJECT:
                variables.add(label)
        relocated: dict[int, int] = {}
        strange += self._find_unexpected_relocations(relocated)
        tags = list(self._read_tags())
        strange += self._find_unexpected_tags(tags)
        at_loading = self._find_initialisers(dict(tags), relocated, functions)
        return ObjectContents(
            frozenset(imports),
            frozenset(exports),
            frozenset(variables),
            at_loading,
            tuple(dict.fromkeys(strange)),
        )

    def _find_unexpected_segments(self) -> Iterator[str]:
        for kind, flags, *_ in self._segments:
            if kind not in _SEGMENT_TYPES:
                yield f"a segment of type {kind:#x}"
            if kind == _LOAD and flags & _EXECUTE and flags & _WRITE:
                yield "memory that is written and executed"
            if kind == _STACK and flags & _EXECUTE:
                yield "an executable stack"
        if sum(kind == _DYNAMIC for kind, *_ in self._segments) > 1:
            yield "several dynamic sections"

    def _find_unexpected_sections(self) -> Iterator[str]:
        for name, kind, flags, *_ in self._sections:
            label = _read_string(self._data, self._names_at + name)
            if kind not in _SECTION_TYPES:
                yield f"section {label} of type {kind:#x}"
            if flags & _THREAD_LOCAL:
                yield f"thread-local variables ({label})"
            if flags & _SECTION_EXECUTE and flags & _SECTION_WRITE:
                yield f"section {label}, which is written and executed"

    def _read_symbols(self) -> Iterator[tuple[int, str, int, int, int]]:
        """Yield kind of table, name, type and binding, section, and address."""
        for _, kind, _, _, start, size, linked, *_ in self._sections:
            if kind not in (_SYMBOLS, _DYNAMIC_SYMBOLS):
                continue
            names = self._sections[linked][4]
            table = self._data[start : start + size]
            for name, info, _, place, address, _ in _SYMBOL.iter_unpack(table):
                yield kind, _read_string(self._data, names + name), info, place, address

    def _find_unexpected_relocations(self, relocated: dict[int, int]) -> Iterator[str]:
        """Yield descriptions of unexpected relocations.

        The addends of RELATIVE relocations are stored in `relocated`, by their offset.
        """
        known = _RELOCATION_TYPES.get(self._machine, frozenset())
        executable = [
            (each[3], each[3] + each[5]) for each in self._sections if each[2] & _SECTION_EXECUTE
        ]
        for section in self._sections:
            if section[1] != _RELOCATIONS:
                continue
            table = self._data[section[4] : section[4] + section[5]]
            for place, info, addend in _RELOCATION.iter_unpack(table):
                kind = info & 0xFFFFFFFF
                if kind not in known:
                    yield f"a relocation of type {kind}"
                elif kind == _RELATIVE[self._machine]:
                    relocated[place] = addend
                if any(begin <= place < end for begin, end in executable):
                    yield "relocations of code"

    def _read_tags(self) -> Iterator[tuple[int, int]]:
        for kind, _, start, _, _, size, *_ in self._segments:
            if kind == _DYNAMIC:
                for tag, value in _TAG.iter_unpack(self._data[start : start + size]):
                    yield tag, value
                    if tag == 0:
                        break

    def _find_unexpected_tags(self, tags: list[tuple[int, int]]) -> Iterator[str]:
        tables = {(each[1], each[3]) for each in self._sections}
        for tag, value in tags:
            if tag in _TABLES and (_TABLES[tag], value) not in tables:
                yield f"a DT_{_TAGS[tag]} outside of the sections"
            if tag in _FLAG_BITS and value & ~_FLAG_BITS[tag]:
                yield f"DT_{_TAGS[tag]} {value:#x}"
            elif tag not in _TAGS and tag not in (_INIT_ARRAY, _INIT_ARRAY_BYTES):
                yield f"DT_{_REFUSED_TAGS.get(tag, hex(tag))}"

    def _find_initialisers(
        self, tags: dict[int, int], relocated: dict[int, int], functions: dict[int, str]
    ) -> tuple[str, ...]:
        """Return the names of the functions in the INIT_ARRAY."""
        start, size = tags.get(_INIT_ARRAY, 0), tags.get(_INIT_ARRAY_BYTES, 0)
        listed = [each for each in self._sections if each[1] == 14 and each[2] & _ALLOCATED]
        size = max(size, sum(each[5] for each in listed))
        addresses = range(start, start + size, 8)
        return tuple(functions.get(relocated.get(each, 0), "") for each in addresses)


def _read_string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode(errors="replace")
