"""What checked runs have found, and what a check comes to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalbench.checking.kinds import Kind, kind_named
from metalbench.verify.place import FindingPlace, place_of

_OTHER = re.compile(r"; the other (?:access|barrier) is at (.*):(\d+)$")


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the source that led to a finding; `line` and `column` count from 1."""

    function: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a kernel must not do, at one place of its source.

    `frames` are the lines that led to it, the innermost call first. `count` is how often it was
    seen, in all sizes; `message` is of the first time in the grid, at `size`. `element` is the
    index in `buffer`, as one dimension; negative before its start. `allowed` is the reason of the
    comment that allows it, empty without one. `places` is more than one where the finding stands
    for places of its kind that are not listed.
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
    def of(self) -> Kind:
        """What is known of its kind."""
        return kind_named(self.kind)

    @property
    def severity(self) -> str:
        """Either error or warning."""
        return "warning" if self.of.is_warning else "error"

    @property
    def frame(self) -> Frame | None:
        """Where it happened; None where nobody knows."""
        return self.frames[0] if self.frames else None

    @property
    def told(self) -> FindingPlace:
        """Buffer, byte and threads, as its message has them."""
        return place_of(self.message)

    @property
    def other_line(self) -> int | None:
        """Of a race the other access' line, of barriers the other one's; None where unknown."""
        found = _OTHER.search(self.message)
        same = found and self.frame and Path(found[1]).name == Path(self.frame.file).name
        return int(found[2]) if found and same else None

    @property
    def key(self) -> tuple[object, ...]:
        """What findings that differ only in when they were seen have in common."""
        return self.kind, self.kernel, self.frames, self.told.buffer


@dataclass(frozen=True)
class Findings:
    """What a check has found in one kernel's file.

    `found` counts, errors first; `allowed` are those that comments of the source allow, `unused`
    says of comments that allow nothing that was found, `skipped` what could not be checked.
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
        """Those that are no mere warnings."""
        return tuple(each for each in self.found if not each.of.is_warning)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Those that do no harm on GPUs."""
        return tuple(each for each in self.found if each.of.is_warning)

    @property
    def passed(self) -> bool:
        """Whether there are no errors."""
        return not self.errors

    @property
    def places_by_kind(self) -> dict[str, int]:
        """At how many places each kind was found, errors first; listed or not."""
        places: dict[str, int] = {}
        for each in self.found:
            places[each.kind] = places.get(each.kind, 0) + each.places
        return places


def folded(findings: list[Finding]) -> list[Finding]:
    """Each once, with the sum of its counts; errors first, then in the order of their lines."""
    result: dict[tuple[object, ...], Finding] = {}
    for each in findings:
        known = result.get(each.key)
        if known is None:
            result[each.key] = each
            continue
        # Sizes share their code, and with it the places that are not listed.
        longer = each if each.places > known.places else known
        result[each.key] = replace(longer, count=known.count + each.count)
    return sorted(result.values(), key=_order)


def _order(finding: Finding) -> tuple[bool, str, int, int]:
    frame = finding.frame or Frame("", "", 0, 0)
    return finding.of.is_warning, frame.file, frame.line, frame.column
