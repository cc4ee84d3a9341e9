"""Comments of a source that allow a finding: `// check: allow KIND reason`.

One is for its own line; where it stands alone, for the next line of code.
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
class Allowance:
    """One comment at `line`, for findings of `kind` in the line `of`."""

    kind: str
    reason: str
    line: int
    of: int


def allowances(source: str, file: str) -> list[Allowance]:
    """The comments of a source. Raises DeclarationError for one of no known kind or no reason."""
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
        found.append(Allowance(kind, reason.strip(), number, _line_of(lines, number)))
    return found


def _line_of(lines: Sequence[str], number: int) -> int:
    """The line of code that the comment at `number` is for."""
    while number < len(lines) and not lines[number - 1].partition("//")[0].strip():
        number += 1
    return number


def sorted_out(
    findings: Sequence[Finding], known: Sequence[Allowance], file: str
) -> tuple[list[Finding], list[Finding], list[str]]:
    """The findings that count, those that are allowed, and what is to be said of idle comments.

    Allowed is a finding at the line, and one in a function that is called there.
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
