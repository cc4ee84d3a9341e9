"""An address in a compiled kernel to the line of the user's file, from its line table."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Any


def symbolize(path: str, offset: int) -> tuple[str, int] | None:
    """File and line of the code at `offset` in a shared object; None where it has no line.

    `offset` is the address less the base that the object is loaded at. Code of the MSL headers gives
    the headers' file: callers walk on to the next return address.
    """
    rows = _rows(path)
    which = bisect_right(rows, offset, key=lambda row: row[0]) - 1
    if which < 0 or rows[which][2] == 0:
        return None
    return rows[which][1], rows[which][2]


@lru_cache(maxsize=32)
def _rows(path: str) -> list[tuple[int, str, int]]:
    """(address, file, line) in order of address; line 0 behind the end of a sequence."""
    from elftools.elf.elffile import ELFFile

    rows: list[tuple[int, str, int]] = []
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        if not elf.has_dwarf_info():
            return rows
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                rows += _unit_rows(program)
    return sorted(rows, key=lambda row: row[0])


def _unit_rows(program: Any) -> list[tuple[int, str, int]]:
    names = _file_names(program)
    rows = []
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            file = names[state.file] if state.file < len(names) else ""
            rows.append((state.address, file, 0 if state.end_sequence else state.line))
    return rows


def _file_names(program: Any) -> list[str]:
    """Names by number; the folder counts unless it is the compilation's own."""
    header = program.header
    folders = [entry.decode() for entry in header["include_directory"]]
    shift = 0 if header["version"] >= 5 else 1
    names = [""] * shift
    for entry in header["file_entry"]:
        name = entry.name.decode()
        folder = entry.dir_index
        own = folder == 0 or name.startswith(("/", "<"))
        listed = folder - shift
        names.append(name if own or listed >= len(folders) else f"{folders[listed]}/{name}")
    return names
