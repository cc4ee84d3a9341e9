"""Parse the output of compute-sanitizer.

The format is shown in https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer (2025.3): every
line begins with =========; a report is an unindented line with the indented lines after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.checking.finding import Frame
from metalbench.verify.place import Position

_PREFIX = re.compile(r"^========= ?(.*)$", re.MULTILINE)
_ACCESS = re.compile(r"Invalid __(\w+)__ (atomic|read|write)\w* of size ([\d,]+) bytes")
_UNWRITTEN = re.compile(r"Uninitialized __(\w+)__ memory read of size ([\d,]+) bytes")
_RACE = re.compile(r"(?:ERROR|WARNING): Race reported between (\w+) access", re.IGNORECASE)
_OTHER_ACCESS = re.compile(r"and (\w+) access (at .*?)(?: \[([\d,]+) hazards?\])?$", re.MULTILINE)
_BARRIER = re.compile(r"Barrier error detected\. (.*)")
# A function, an offset in it, and a line if the code has line information.
_PLACE = re.compile(
    r"(?:\bat |Device Frame: ?)(?P<function>.+?)(?:\+|:)0x[0-9a-f]+"
    r"(?: in (?P<file>.+?):(?P<line>\d+))?(?:\s|$)"
)
_WHO = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
# The words before the address differ between versions.
_ADDRESS = re.compile(r"Address (0x[0-9a-f]+)|(0x[0-9a-f]+) is (?:out of bounds|misaligned)")


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """One report: the access `what`, its `memory` ("global", "shared", "local") and its thread.

    `kind` is the finding's kind. `other` is the access of the other thread of a race.
    """

    kind: str
    what: str
    memory: str
    frames: tuple[Frame, ...]
    address: int | None = None
    thread: Position | None = None
    block: Position | None = None
    other: str = ""
    other_frame: Frame | None = None
    count: int = 1


def parse_reports(text: str) -> list[SanitizerReport]:
    """Return the reports about kernels in the output, in order."""
    return [report for each in _split_blocks(text) if (report := _parse_report(each)) is not None]


def _split_blocks(text: str) -> Iterator[str]:
    """Yield each unindented line with the indented lines after it."""
    block: list[str] = []
    for found in _PREFIX.finditer(text):
        line = found[1]
        if line and not line.startswith(" ") and block:
            yield "\n".join(block)
            block = []
        if line:
            block.append(line)
    if block:
        yield "\n".join(block)


def _parse_report(block: str) -> SanitizerReport | None:
    head, _, rest = block.partition("\n")
    frames, address, who = _parse_frames(block), _ADDRESS.search(rest), _parse_positions(rest)
    at = int(address[1] or address[2], 16) if address else None
    if found := _ACCESS.search(head):
        kind = "misaligned" if "is misaligned" in rest else "out-of-bounds"
        what = f"{found[2]} of {_number(found[3])} bytes"
        return SanitizerReport(kind, what, found[1], frames, at, *who)
    if found := _UNWRITTEN.search(head):
        what = f"read of {_number(found[2])} bytes that nothing has written"
        return SanitizerReport("uninitialised", what, found[1], frames, at, *who)
    if found := _RACE.search(head):
        return _parse_race(found[1], frames, rest)
    if found := _BARRIER.search(head):
        return SanitizerReport(
            "barrier", found[1][:1].lower() + found[1][1:], "", frames, None, *who
        )
    return None


def _parse_race(access: str, frames: tuple[Frame, ...], rest: str) -> SanitizerReport:
    other = _OTHER_ACCESS.search(rest)
    frame = next(iter(_parse_frames(other[2])), None) if other else None
    count = _number(other[3] or "1") if other else 1
    said = other[1].lower() if other else ""
    first = frames[:1]
    return SanitizerReport(
        "race", access.lower(), "shared", first, other=said, other_frame=frame, count=count
    )


def _parse_frames(text: str) -> tuple[Frame, ...]:
    """Return the frames with known lines, innermost first."""
    return tuple(
        Frame(found["function"].removesuffix("()"), found["file"], int(found["line"]), 0)
        for found in _PLACE.finditer(text)
        if found["file"]
    )


def _parse_positions(text: str) -> tuple[Position | None, Position | None]:
    found = _WHO.search(text)
    if found is None:
        return None, None
    x, y, z, of_x, of_y, of_z = map(int, found.groups())
    return (x, y, z), (of_x, of_y, of_z)


def _number(text: str) -> int:
    return int(text.replace(",", ""))
