"""The parts of the optimizer's prompt that teach: outcomes, the library's techniques, records.

Each part has a limit in characters, so that a prompt does not grow with the history.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Status
from agent_steel.models.library_search import LibraryText, rank_texts
from agent_steel.models.local_paths import remove_local_paths
from agent_steel.source import read_line, split_significant
from metalbench.kernel.source_files import find_included_headers

if TYPE_CHECKING:
    from agent_steel.proposal import Brief, KnownVersion
    from metalbench.kernel.header import Kernel

# Outcomes: the attempts that are shown in full, and the limits of each part in characters.
MOST_OUTCOMES = 4
LONGEST_MESSAGE = 1500
LONGEST_DIFF = 3000
LONGEST_OUTCOMES = 12_000
MOST_NAMED_LINES = 6
JUDGED = (Status.KEPT, Status.REVERTED, Status.UNDECIDED, Status.WRONG, Status.BROKEN)
# The library: headers and kernels that are shown, and those whose text is.
MOST_HEADERS, MOST_KERNELS = 4, 2
MOST_HEADER_TEXTS = 2
LONGEST_COMMENT = 700
LONGEST_TEXT = 4000
LONGEST_LIBRARY = 12_000
# Records.
LONGEST_RECORD = 4000
LONGEST_RECORDS = 8000
CUT = "... (cut)"
_PLACE = re.compile(r"([\w.+-]+\.(?:metal|h)):(\d+)")


def describe_outcomes(brief: Brief) -> str:
    """Return the last attempts in full, newest first: message, lines that it names, and diff.

    Attempts at other values of tunables alone are left out, unless they failed.
    """
    known = {each.number: each for each in brief.attempts}
    parts: list[str] = []
    left = LONGEST_OUTCOMES
    for each in reversed(brief.attempts):
        if len(parts) == MOST_OUTCOMES or each.status not in JUDGED:
            continue
        part = _describe_outcome(each, known, brief.kernel)
        if part and len(part) <= left:
            parts.append(part)
            left -= len(part)
    if not parts:
        return ""
    return "\n\n".join(["The last attempts in full, the newest first:", *parts])


def _describe_outcome(each: Attempt, known: Mapping[int, Attempt], kernel: Kernel) -> str:
    parent = known.get(each.parent or 0)
    failed = each.status in (Status.WRONG, Status.BROKEN)
    diff = "" if parent is None else diff_sources(parent.source, each.source)
    if not diff and not failed:
        return ""
    lines = [f"## Number {each.number}, {each.status.value}: {each.technique or 'no name'}", ""]
    if each.ratio is not None:
        lines += [f"{each.ratio.value:.3g} times as fast as its rival.", ""]
    if each.error:
        message = remove_local_paths(each.error.strip())
        lines += ["<message>", cut(message, LONGEST_MESSAGE), "</message>", ""]
        named = list(islice(_list_named_lines(message, each, kernel), MOST_NAMED_LINES))
        lines += [*named, ""] if named else []
    if diff and parent is not None:
        changes = cut(diff, LONGEST_DIFF)
        lines += [f"Its changes to number {parent.number}:", "", "<diff>", changes, "</diff>"]
    return "\n".join(lines).strip()


def _list_named_lines(message: str, attempt: Attempt, kernel: Kernel) -> Iterator[str]:
    """Yield the text of each line that a message names, once."""
    lines = attempt.source.splitlines()
    for name, number in dict.fromkeys(_PLACE.findall(message)):
        text = read_line(kernel, name, int(number))
        if name == kernel.path.name:
            text = lines[int(number) - 1].strip() if 0 < int(number) <= len(lines) else ""
        if text:
            yield f"* {name}:{number} is `{text}`"


def diff_sources(before: str, after: str) -> str:
    """Return the differences of two sources as a unified diff with a line of context.

    '' for sources that differ in comments and spacing only.
    """
    if list(split_significant(before)) == list(split_significant(after)):
        return ""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(islice(lines, 2, None))


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters; it is cut after a line."""
    if len(text) <= longest:
        return text
    kept = text[: longest - len(CUT) - 1]
    return f"{kept.rpartition(chr(10))[0] or kept}\n{CUT}"


# The library's techniques.


def describe_library(brief: Brief) -> str:
    """Return headers and kernels of the library that are about the task and what limits it.

    One kernel and half of the headers are those nearest to slow code that lints have found, if
    there is any. Of the others, headers of the chosen kernels come first. Headers that the kernel
    of the brief includes, and this kernel itself, are left out.
    """
    task, diagnosis = f"{brief.task.name} {brief.task.description}", brief.diagnosis
    slow = " ".join(each.value for each in diagnosis.facts if each.name == "slow code")
    near = rank_texts(task, f"{diagnosis.bound} {diagnosis.text}")
    near.sort(key=lambda each: each.name != brief.task.name)
    by_lints = rank_texts(slow)
    own = list(split_significant(brief.kernel.source))
    included = {path.name for path in find_included_headers(brief.kernel.source)}

    def is_kernel(each: LibraryText) -> bool:
        return not each.is_header and list(split_significant(each.text)) != own

    kernels = _choose(filter(is_kernel, near), filter(is_kernel, by_lints), MOST_KERNELS)
    theirs = {path.name for each in kernels for path in find_included_headers(each.text)}
    headers = [
        [each for each in found if each.is_header and each.path.name not in included]
        for found in (near, by_lints)
    ]
    headers[0].sort(key=lambda each: each.path.name not in theirs)
    chosen = _choose(iter(headers[0]), iter(headers[1]), MOST_HEADERS)
    parts = list(_describe_texts(chosen, kernels))
    if not parts:
        return ""
    said = "The headers and kernels that are nearest to this task and to what limits it:"
    return "\n\n".join(["# Techniques of the library", said, *parts])


def _choose(
    near: Iterator[LibraryText], by_lints: Iterator[LibraryText], most: int
) -> list[LibraryText]:
    """Return up to `most` texts, in turn of the first and of the second list."""
    found: dict[LibraryText, None] = {}
    while len(found) < most:
        several = [each for each in (next(near, None), next(by_lints, None)) if each is not None]
        if not several:
            break
        found |= dict.fromkeys(several)
    return list(found)[:most]


def _describe_texts(
    headers: Sequence[LibraryText], kernels: Sequence[LibraryText]
) -> Iterator[str]:
    left = LONGEST_LIBRARY
    for number, each in enumerate((*headers, *kernels)):
        has_text = number < MOST_HEADER_TEXTS or not each.is_header
        part = _describe_text(each, has_text=has_text)
        if len(part) <= left:
            left -= len(part)
            yield part


def _describe_text(each: LibraryText, *, has_text: bool) -> str:
    kind = "header" if each.is_header else "kernel"
    technique = f", {each.technique}" if each.technique else ""
    about = f"* {kind} `{each.name}`{technique}: {_shorten(each.comment)}"
    text = each.text if has_text else ""
    if not text or len(text) > LONGEST_TEXT:
        return about
    return f'{about}\n\n<{kind} name="{each.name}">\n{text}\n</{kind}>'


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_COMMENT else f"{text[:LONGEST_COMMENT]}..."


# The best versions of the task that the store has of other places.


def describe_records(known: Sequence[KnownVersion], source: str) -> str:
    """Return the best versions of the task elsewhere, each with its differences to `source`."""
    parts: list[str] = []
    left = LONGEST_RECORDS
    for each in known:
        about = f"* {remove_local_paths(each.about)}"
        diff = diff_sources(source, each.source) if each.source else ""
        part = about
        if diff:
            said = "Its differences to the best version here:"
            part = f"{about} {said}\n\n<diff>\n{cut(diff, LONGEST_RECORD)}\n</diff>"
        for one in (part, about):
            if len(one) <= left:
                parts.append(one)
                left -= len(one)
                break
    if not parts:
        return ""
    return "\n\n".join(["# The best versions elsewhere", *parts])
