"""Findings of checked runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalbench.checking.kinds import Kind, find_kind
from metalbench.verify.place import FindingPlace, place_of

_OTHER = re.compile(r"; the other (?:access|barrier) is at (.*):(\d+)$")


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the source on the call stack of a finding; `line` and `column` count from 1."""

    function: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of a kernel at one place of its source.

    `frames` is the call stack, innermost first. `count` is the number of occurrences in all sizes;
    `message` describes the first one in the grid, at `size`. `element` is the flat index in
    `buffer`, negative before its start. `allowed` is the reason of the comment that suppresses it,
    empty without one. `places` is above one if the finding represents unlisted places of its kind.
    """

    kind: str
    kernel: str
    message: str
    count: int
    frames: tuple[Frame, ...]
    size: str
    dtype: str
    element: int | None = None
    allowed: str = ""
    places: int = 1

    @property
    def kind_info(self) -> Kind:
        """The description of its kind."""
        return find_kind(self.kind)

    @property
    def severity(self) -> str:
        """Either error or warning."""
        return "warning" if self.kind_info.is_warning else "error"

    @property
    def frame(self) -> Frame | None:
        """The innermost frame; None if the place is unknown."""
        return self.frames[0] if self.frames else None

    @property
    def details(self) -> FindingPlace:
        """Buffer, byte and threads, as parsed from the message."""
        return place_of(self.message)

    @property
    def other_line(self) -> int | None:
        """The line of the other access of a race or of the other barrier; None if unknown."""
        found = _OTHER.search(self.message)
        same = found and self.frame and Path(found[1]).name == Path(self.frame.file).name
        return int(found[2]) if found and same else None

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of the finding: occurrences with the same key are merged."""
        return self.kind, self.kernel, self.frames, self.details.buffer


@dataclass(frozen=True)
class Findings:
    """All findings of a check in one kernel's file.

    `found` counts, errors first. `allowed` are suppressed by comments of the source, `unused` are
    messages about comments without a finding, `skipped` about checks that were impossible.
    """

    kernel: str
    sizes: tuple[str, ...]
    tools: tuple[str, ...]
    found: tuple[Finding, ...] = ()
    allowed: tuple[Finding, ...] = ()
    unused: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    source: str = field(default="", repr=False)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of `source`."""
        return self.source.splitlines()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are not warnings."""
        return tuple(each for each in self.found if not each.kind_info.is_warning)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are harmless on GPUs."""
        return tuple(each for each in self.found if each.kind_info.is_warning)

    @property
    def passed(self) -> bool:
        """Whether there are only warnings."""
        return not self.errors

    @property
    def places_by_kind(self) -> dict[str, int]:
        """The number of places of each kind, errors first; listed or not."""
        places: dict[str, int] = {}
        for each in self.found:
            places[each.kind] = places.get(each.kind, 0) + each.places
        return places


def merge_findings(findings: list[Finding]) -> list[Finding]:
    """Merge equal findings and add their counts; errors first, then by line."""
    result: dict[tuple[object, ...], Finding] = {}
    for each in findings:
        known = result.get(each.key)
        if known is None:
            result[each.key] = each
            continue
        # Sizes share their code, and so the unlisted places.
        longer = each if each.places > known.places else known
        result[each.key] = replace(longer, count=known.count + each.count)
    return sorted(result.values(), key=_order)


def _order(finding: Finding) -> tuple[bool, str, int, int]:
    frame = finding.frame or Frame("", "", 0, 0)
    return finding.kind_info.is_warning, frame.file, frame.line, frame.column
