"""Suppression comments in a source: `// check: allow KIND reason`.

A comment applies to its own line; on a line without code, to the next line of code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metalbench.checking.finding import Finding
from metalbench.checking.kinds import KINDS
from metalbench.errors import DeclarationError, suggestion

_COMMENT = re.compile(r"//\s*check:(.*)")
_ALLOW = re.compile(r"\s*allow\s+(\S+)\s*(.*)")
FORM = "`// check: allow KIND reason`"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment at `line`, for findings of `kind` in the line `of`."""

    kind: str
    reason: str
    line: int
    of: int


def read_suppressions(source: str, file: str) -> list[Suppression]:
    """Return the suppressions of a source; raises DeclarationError for an invalid one."""
    found = []
    lines = source.splitlines()
    for number, text in enumerate(lines, 1):
        comment = _COMMENT.search(text)
        if comment is None:
            continue
        parts = _ALLOW.fullmatch(comment[1])
        if parts is None:
            raise DeclarationError(f"{file}:{number}: expected {FORM}, got `{comment[0].strip()}`")
        kind, reason = parts.groups()
        if kind not in KINDS:
            raise DeclarationError(
                f"{file}:{number}: unknown kind of finding {kind!r}; {suggestion(kind, KINDS)}"
            )
        if not reason.strip():
            raise DeclarationError(
                f"{file}:{number}: expected a reason why {kind} is allowed, got none; write {FORM}"
            )
        found.append(Suppression(kind, reason.strip(), number, _line_of(lines, number)))
    return found


def _line_of(lines: Sequence[str], number: int) -> int:
    """Return the line of code to which the comment at `number` applies."""
    while number < len(lines) and not lines[number - 1].partition("//")[0].strip():
        number += 1
    return number


def apply_suppressions(
    findings: Sequence[Finding], known: Sequence[Suppression], file: str
) -> tuple[list[Finding], list[Finding], list[str]]:
    """Return the findings that count, the suppressed ones, and messages about unused comments.

    A suppression covers a finding in its line, and in a function that is called there.
    """
    counting, allowed = [], []
    used: set[int] = set()
    for finding in findings:
        lines = {frame.line for frame in finding.frames if frame.file == file}
        fitting = [each for each in known if each.kind == finding.kind and each.of in lines]
        used.update(each.line for each in fitting)
        if fitting:
            allowed.append(replace(finding, allowed=fitting[0].reason))
        else:
            counting.append(finding)
    idle = [
        f"{file}:{each.line}: allows {each.kind}, which was not found; remove it"
        for each in known
        if each.line not in used
    ]
    return counting, allowed, idle
