"""ELF, as far as it says what a shared object needs of others and does when it is loaded.

The format is that of the System V ABI (elf(5)); 64 bits, little-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS, _DYNAMIC_SYMBOLS = 2, 11
_WRITABLE, _THREAD_LOCAL = 0x1, 0x400
_OBJECT, _UNDEFINED = 1, 0
_AT_LOADING = frozenset(
    {".init_array", ".fini_array", ".preinit_array", ".init", ".fini", ".ctors"}
)


class Contents(NamedTuple):
    """What matters of a shared object before it is loaded.

    `imports` are names that it wants of others, `variables` those of what it may write, and
    `at_loading` is how many bytes of addresses it has of what runs when it is loaded or unloaded.
    """

    imports: frozenset[str]
    variables: frozenset[str]
    at_loading: int


def contents(library: Path) -> Contents:
    """Read a shared object."""
    data = library.read_bytes()
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    count, names_index = struct.unpack_from("<HH", data, 0x3C)
    sections = [_SECTION.unpack_from(data, offset + _SECTION.size * i) for i in range(count)]
    names_at = sections[names_index][4]
    imports, variables, at_loading = set(), set(), 0
    writable = {i for i, each in enumerate(sections) if each[2] & (_WRITABLE | _THREAD_LOCAL)}
    for section in sections:
        name, kind, _, _, start, size, linked, *_ = section
        if _text(data, names_at + name) in _AT_LOADING:
            at_loading += size
        if kind not in (_SYMBOLS, _DYNAMIC_SYMBOLS):
            continue
        table = data[start : start + size]
        for symbol, info, _, place, _, _ in _SYMBOL.iter_unpack(table):
            if not symbol:
                continue
            label = _text(data, sections[linked][4] + symbol)
            if place == _UNDEFINED:
                # The loader goes by the dynamic symbols alone.
                imports |= {label} if kind == _DYNAMIC_SYMBOLS else set()
            elif place in writable and info & 0xF == _OBJECT:
                variables.add(label)
    return Contents(frozenset(imports), frozenset(variables), at_loading)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode(errors="replace")
