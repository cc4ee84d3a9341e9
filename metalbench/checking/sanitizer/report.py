"""What compute-sanitizer prints of a program, as reports.

Its form is shown in https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer (2025.3): every line
begins with =========, a report has one that is not indented, and what belongs to it is.
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
# A function, an offset in it, and a line where the code has lines.
_PLACE = re.compile(
    r"(?:\bat |Device Frame: ?)(?P<function>.+?)(?:\+|:)0x[0-9a-f]+"
    r"(?: in (?P<file>.+?):(?P<line>\d+))?(?:\s|$)"
)
_WHO = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
# Versions differ in the words before it.
_ADDRESS = re.compile(r"Address (0x[0-9a-f]+)|(0x[0-9a-f]+) is (?:out of bounds|misaligned)")


@dataclass(frozen=True, slots=True)
class Report:
    """One report: `what` was done, in which `memory` ("global", "shared", "local"), by whom.

    `kind` is the finding's; `other` is what another thread did, and its place, of a race.
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


def reports(text: str) -> list[Report]:
    """Those about kernels in all that compute-sanitizer has printed, in its order."""
    return [report for each in _blocks(text) if (report := _report(each)) is not None]


def _blocks(text: str) -> Iterator[str]:
    """Each line that is not indented, with those after it that are."""
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


def _report(block: str) -> Report | None:
    head, _, rest = block.partition("\n")
    frames, address, who = _frames(block), _ADDRESS.search(rest), _who(rest)
    at = int(address[1] or address[2], 16) if address else None
    if found := _ACCESS.search(head):
        kind = "misaligned" if "is misaligned" in rest else "out-of-bounds"
        what = f"{found[2]} of {_number(found[3])} bytes"
        return Report(kind, what, found[1], frames, at, *who)
    if found := _UNWRITTEN.search(head):
        what = f"read of {_number(found[2])} bytes that nothing has written"
        return Report("uninitialised", what, found[1], frames, at, *who)
    if found := _RACE.search(head):
        return _race(found[1], frames, rest)
    if found := _BARRIER.search(head):
        return Report("barrier", found[1][:1].lower() + found[1][1:], "", frames, None, *who)
    return None


def _race(access: str, frames: tuple[Frame, ...], rest: str) -> Report:
    other = _OTHER_ACCESS.search(rest)
    frame = next(iter(_frames(other[2])), None) if other else None
    count = _number(other[3] or "1") if other else 1
    said = other[1].lower() if other else ""
    first = frames[:1]
    return Report(
        "race", access.lower(), "shared", first, other=said, other_frame=frame, count=count
    )


def _frames(text: str) -> tuple[Frame, ...]:
    """The places whose lines are known, the innermost first."""
    return tuple(
        Frame(found["function"].removesuffix("()"), found["file"], int(found["line"]), 0)
        for found in _PLACE.finditer(text)
        if found["file"]
    )


def _who(text: str) -> tuple[Position | None, Position | None]:
    found = _WHO.search(text)
    if found is None:
        return None, None
    x, y, z, of_x, of_y, of_z = map(int, found.groups())
    return (x, y, z), (of_x, of_y, of_z)


def _number(text: str) -> int:
    return int(text.replace(",", ""))
