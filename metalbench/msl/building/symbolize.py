"""An address in a compiled kernel to the line of the user's file, from its debug information."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from metalbench.msl.ir.places import is_own

_ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")


@dataclass
class _Lines:
    """A shared object's line table, its functions, and the calls that were inlined."""

    rows: list[tuple[int, str, int, int]] = field(default_factory=list)  # address and place
    inlined: list[_Call] = field(default_factory=list)
    functions: list[tuple[int, int, str]] = field(default_factory=list)  # range and name


class _Call(NamedTuple):
    """The code of a function that was inlined, and where it is called."""

    begin: int
    end: int
    function: str
    file: str
    line: int
    column: int


class SourceFrame(NamedTuple):
    """A line of the source that led to some code."""

    function: str
    file: str
    line: int
    column: int


def symbolize(path: str, offset: int) -> tuple[str, int] | None:
    """File and line of the code at `offset` in a shared object; None where it has no line.

    Nor has any in a process that is sealed (isolation/confinement) and so opens no files.
    `offset` is the address less the base that the object is loaded at. Code inlined from the MSL
    headers counts as the line of the user's file that called it.
    """
    found = _frames_at(path, offset)
    if not found:
        return None
    frame = next((each for each in found if not is_own(each.file)), found[0])
    return frame.file, frame.line


def frames(path: str, offsets: Sequence[int]) -> list[SourceFrame]:
    """The user's own lines that led to the code at `offsets`, the innermost call first.

    Each offset is that of one function on the stack; those that were inlined into it come with it.
    Where nothing is of the user's, all lines. Empty as `symbolize`.
    """
    found = [frame for offset in offsets for frame in _frames_at(path, offset)]
    return [frame for frame in found if not is_own(frame.file)] or found


def _frames_at(path: str, offset: int) -> list[SourceFrame]:
    try:
        lines = _lines(path)
    except (OSError, ImportError):
        return []
    which = bisect_right(lines.rows, offset, key=lambda row: row[0]) - 1
    if which < 0:
        return []
    place = lines.rows[which][1:]
    result = []
    # A function comes before those that were inlined into it.
    calls = [call for call in lines.inlined if call.begin <= offset < call.end]
    for call in reversed(calls):
        result.append(SourceFrame(call.function, *place))
        place = call.file, call.line, call.column
    whole = next((name for begin, end, name in lines.functions if begin <= offset < end), "")
    # Code without a line of its own may be inlined in a line that has one.
    return [frame for frame in (*result, SourceFrame(whole, *place)) if frame.line]


@lru_cache(maxsize=32)
def _lines(path: str) -> _Lines:
    lines = _Lines()
    with ExitStack() as files:
        dwarf, place = _debug_information(Path(path), files)
        if dwarf is None:
            return lines
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                names = _file_names(program)
                lines.rows += (
                    (place(address), file, line, column)
                    for address, file, line, column in _unit_rows(program, names)
                )
                for call in _inlined_calls(dwarf, unit, names):
                    begin, end = place(call.begin), place(call.end - 1) + 1
                    lines.inlined.append(call._replace(begin=begin, end=end))
                lines.functions += (
                    (place(begin), place(end - 1) + 1, name)
                    for begin, end, name in _functions(dwarf, unit)
                )
    lines.rows.sort(key=lambda row: row[0])
    return lines


def _debug_information(path: Path, files: ExitStack) -> tuple[Any, Callable[[int], int]]:
    """What pyelftools reads, if any, and where an address in it is in the shared object."""
    from metalbench.msl.building import mach_o

    stream = files.enter_context(path.open("rb"))
    if mach_o.is_mach_o(stream):
        return mach_o.read_debug_information(path)
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(stream)
    return (elf.get_dwarf_info() if elf.has_dwarf_info() else None), lambda address: address


def _unit_rows(program: Any, names: list[str]) -> Iterator[tuple[int, str, int, int]]:
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            line = 0 if state.end_sequence else state.line
            yield state.address, _name(names, state.file), line, state.column


def _inlined_calls(dwarf: Any, unit: Any, names: list[str]) -> Iterator[_Call]:
    for die in unit.iter_DIEs():
        if die.tag != "DW_TAG_inlined_subroutine" or "DW_AT_call_line" not in die.attributes:
            continue
        file = _name(names, die.attributes["DW_AT_call_file"].value)
        line = die.attributes["DW_AT_call_line"].value
        column = die.attributes.get("DW_AT_call_column")
        for begin, end in _ranges(dwarf, unit, die):
            name = _function_name(die)
            yield _Call(begin, end, name, file, line, column.value if column else 0)


def _functions(dwarf: Any, unit: Any) -> Iterator[tuple[int, int, str]]:
    for die in unit.iter_DIEs():
        if die.tag == "DW_TAG_subprogram" and (name := _function_name(die)):
            for begin, end in _ranges(dwarf, unit, die):
                yield begin, end, name


def _function_name(die: Any) -> str:
    """Its own, or that of the declaration or the function that it is a copy of."""
    for _ in range(4):
        if "DW_AT_name" in die.attributes:
            return str(die.attributes["DW_AT_name"].value.decode(errors="replace"))
        of = next((each for each in _ORIGINS if each in die.attributes), None)
        if of is None:
            break
        die = die.get_DIE_from_attribute(of)
    return ""


def _ranges(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    """The addresses of an entry's code."""
    attributes = die.attributes
    if "DW_AT_ranges" in attributes:
        entries = dwarf.range_lists().get_range_list_at_offset(
            attributes["DW_AT_ranges"].value, unit
        )
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        origin = base.value if base is not None else 0
        for entry in entries:
            if hasattr(entry, "base_address"):
                origin = entry.base_address
            else:
                shift = 0 if getattr(entry, "is_absolute", False) else origin
                yield entry.begin_offset + shift, entry.end_offset + shift
    elif "DW_AT_high_pc" in attributes:
        low = attributes["DW_AT_low_pc"].value
        high = attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value


def _name(names: list[str], number: int) -> str:
    return names[number] if number < len(names) else ""


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
