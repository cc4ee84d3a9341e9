"""Map addresses of a compiled kernel to lines of the user's file, by debug information."""

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
class _LineTable:
    """A shared object's line table, its functions, and its inlined calls."""

    rows: list[tuple[int, str, int, int]] = field(default_factory=list)  # address and location
    inlined: list[_InlinedCall] = field(default_factory=list)
    functions: list[tuple[int, int, str]] = field(default_factory=list)  # range and name


class _InlinedCall(NamedTuple):
    """The address range of an inlined function, and the location of the call."""

    begin: int
    end: int
    function: str
    file: str
    line: int
    column: int


class SourceFrame(NamedTuple):
    """A source location on the call stack of some code."""

    function: str
    file: str
    line: int
    column: int


class SourceLine(NamedTuple):
    """A line of the user's source.

    `call` is the line of the kernel's file that calls the code of a header, such as "k.metal:7"; it
    is empty for code of the kernel's file.
    """

    file: str
    line: int
    call: str = ""


def symbolize(path: str, offset: int) -> SourceLine | None:
    """Return the line of the code at `offset` in a shared object; None without debug line.

    `offset` is the address minus the base that the object is loaded at. Code inlined from the MSL
    headers maps to the user's line that called it. A sandboxed process (sandbox/confinement.py)
    cannot open files, so the result there is None.
    """
    found = _find_frames(path, offset)
    if not found:
        return None
    users = [each for each in found if not is_own(each.file)] or found[:1]
    frame, kernel = users[0], users[-1]
    if frame.file == kernel.file:
        return SourceLine(frame.file, frame.line)
    call = next(each for each in users if each.file == kernel.file)
    return SourceLine(frame.file, frame.line, f"{call.file}:{call.line}")


def frames(path: str, offsets: Sequence[int]) -> list[SourceFrame]:
    """Return the user's lines of the call stack at `offsets`, the innermost call first.

    Each offset is that of one function on the stack; functions inlined into it are included. If no
    line is the user's, all lines are returned. Empty where `symbolize` returns None.
    """
    found = [frame for offset in offsets for frame in _find_frames(path, offset)]
    return [frame for frame in found if not is_own(frame.file)] or found


def _find_frames(path: str, offset: int) -> list[SourceFrame]:
    try:
        # A build may replace the object by one of another layout.
        state = Path(path).stat()
        lines = _read_line_table(path, (state.st_mtime_ns, state.st_size, state.st_ino))
    except (OSError, ImportError):
        return []
    which = bisect_right(lines.rows, offset, key=lambda row: row[0]) - 1
    if which < 0:
        return []
    place = lines.rows[which][1:]
    result = []
    # The debug information lists a function before those that are inlined into it.
    calls = [call for call in lines.inlined if call.begin <= offset < call.end]
    for call in reversed(calls):
        result.append(SourceFrame(call.function, *place))
        place = call.file, call.line, call.column
    whole = next((name for begin, end, name in lines.functions if begin <= offset < end), "")
    # Code without a line may be inlined in a line.
    return [frame for frame in (*result, SourceFrame(whole, *place)) if frame.line]


@lru_cache(maxsize=32)
def _read_line_table(path: str, _state: tuple[int, int, int]) -> _LineTable:
    lines = _LineTable()
    with ExitStack() as files:
        dwarf, place = _read_debug_information(Path(path), files)
        if dwarf is None:
            return lines
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                names = _read_file_names(program)
                lines.rows += (
                    (place(address), file, line, column)
                    for address, file, line, column in _read_rows(program, names)
                )
                for call in _read_inlined_calls(dwarf, unit, names):
                    begin, end = place(call.begin), place(call.end - 1) + 1
                    lines.inlined.append(call._replace(begin=begin, end=end))
                lines.functions += (
                    (place(begin), place(end - 1) + 1, name)
                    for begin, end, name in _read_functions(dwarf, unit)
                )
    lines.rows.sort(key=lambda row: row[0])
    return lines


def _read_debug_information(path: Path, files: ExitStack) -> tuple[Any, Callable[[int], int]]:
    """Return pyelftools' debug information or None, and the map of its addresses to the library."""
    from metalbench.msl.toolchain import mach_o

    stream = files.enter_context(path.open("rb"))
    if mach_o.is_mach_o(stream):
        return mach_o.read_debug_information(path)
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(stream)
    return (elf.get_dwarf_info() if elf.has_dwarf_info() else None), lambda address: address


def _read_rows(program: Any, names: list[str]) -> Iterator[tuple[int, str, int, int]]:
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            line = 0 if state.end_sequence else state.line
            yield state.address, _get_name(names, state.file), line, state.column


def _read_inlined_calls(dwarf: Any, unit: Any, names: list[str]) -> Iterator[_InlinedCall]:
    for die in unit.iter_DIEs():
        if die.tag != "DW_TAG_inlined_subroutine" or "DW_AT_call_line" not in die.attributes:
            continue
        file = _get_name(names, die.attributes["DW_AT_call_file"].value)
        line = die.attributes["DW_AT_call_line"].value
        column = die.attributes.get("DW_AT_call_column")
        for begin, end in _read_ranges(dwarf, unit, die):
            name = _find_function_name(die)
            yield _InlinedCall(begin, end, name, file, line, column.value if column else 0)


def _read_functions(dwarf: Any, unit: Any) -> Iterator[tuple[int, int, str]]:
    for die in unit.iter_DIEs():
        if die.tag == "DW_TAG_subprogram" and (name := _find_function_name(die)):
            for begin, end in _read_ranges(dwarf, unit, die):
                yield begin, end, name


def _find_function_name(die: Any) -> str:
    """Return an entry's name, or that of its declaration or abstract origin."""
    for _ in range(4):
        if "DW_AT_name" in die.attributes:
            return str(die.attributes["DW_AT_name"].value.decode(errors="replace"))
        of = next((each for each in _ORIGINS if each in die.attributes), None)
        if of is None:
            break
        die = die.get_DIE_from_attribute(of)
    return ""


def _read_ranges(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    """Yield the address ranges of an entry's code."""
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


def _get_name(names: list[str], number: int) -> str:
    return names[number] if number < len(names) else ""


def _read_file_names(program: Any) -> list[str]:
    """Return file names by number, with their folder unless it is the compilation's."""
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
