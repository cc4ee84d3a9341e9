"""The history of a task: tables, a sparkline, regressions, and JSON for other programs.

JSON: one object.

    schema          1
    task            string
    pasts           list of groups of comparable results, each
        device, size, dtype, mode           strings
        sizes            {name: integer}
        by               "MLX" or "time": the quantity that is compared
        spread           standard deviation of equal sources' logarithms beyond their intervals
        repeats          number of differences of runs it is estimated from; with fewer than 4 the
                         spread is at least 0.01, which is assumed
        latest, best     ids of results, or null
        against_previous, against_best      {ratio, verdict, p_value, reasons}, or null
        regressed        whether the latest is SLOWER than either
        results          the latest first: list of
            id, run      integers
            recorded_at, source_hash, status     strings
            revision, project_revision           git's, of metalbench and of the project, or null
            mlx, form, verdict                   strings, or null
            kernel_ns, gpu_ns, ratio             intervals, or null

Of all tasks: one object {schema, tasks}, where tasks is a list of {task, pasts}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import compress, groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.compare.comparison import BY_REFERENCE, BY_TIME
from metalbench.report import numbers
from metalbench.report.export import interval_json
from metalbench.report.numbers import SPARKLINE_MISSING, sparkline
from metalbench.report.terminal import (
    HEADING,
    QUIET,
    STATUS_STYLES,
    VERDICT_STYLES,
    WARNING,
    break_before_detail,
    fits_width,
    plain_table,
)
from metalbench.safe_text import json_text
from metalbench.store.history import HistoryEntry
from metalbench.store.result import Status

if TYPE_CHECKING:
    from metalbench.compare.results import TaskHistory
    from metalbench.stats import Judgement


LONGEST_LINE = 60
BAD = STATUS_STYLES[Status.INCORRECT]
MISSING_MEANS = (
    f"{SPARKLINE_MISSING} is a result without such a score: not correct, or not comparable with "
    "the latest"
)
RATIO = "MLX / kernel"
TIMES = ("kernel", RATIO, "GPU time")
COLUMNS = ("when", "revision", "size", "dtype", "source", "status", *TIMES)
NARROW_COLUMNS = ("when\nrevision", "size\ndtype", "source\nstatus", *TIMES)


def history_report(past: TaskHistory, console: Console) -> Group:
    """Return one history: sparkline, best, latest, regressions, then every result."""
    entry = past.entries[0]
    extents = ", ".join(f"{name} {extent}" for name, extent in entry.sizes.items())
    title = Text(f"{entry.device_kind} ({entry.device_name})", style=HEADING)
    title.append(f"  {entry.size} ({extents}), {entry.dtype}, {entry.mode}", style="not bold")
    blocks: list[RenderableType] = [title, *_course(past, console), *_judgements(past)]
    blocks += [Text(), _table(past.entries, console), Text()]
    if any(revision_text(each.commit).endswith(LOCAL_CHANGES) for each in past.entries):
        line = f"{LOCAL_CHANGES}: the revision with uncommitted changes."
        blocks.insert(-1, Text(line, style=QUIET))
    return Group(*blocks)


def history_tables(
    entries: Sequence[HistoryEntry], console: Console
) -> Iterator[tuple[str, Table]]:
    """Yield one table for each device, with its name: times of different devices do not compare."""

    def device(entry: HistoryEntry) -> tuple[str, str]:
        return entry.device_kind, entry.device_name

    # Sorting is stable: within a device the latest stays first.
    for (kind, name), same in groupby(sorted(entries, key=device), device):
        yield f"{kind} ({name})", _table(list(same), console)


# Marks a revision with uncommitted changes.
LOCAL_CHANGES = "+"


def revision_text(revision: str | None) -> str:
    """Return ``1a2b3c4d`` or ``v1.0-3-g1a2b3c4d``, with ``+`` for local changes; else a dash."""
    if revision is None:
        return numbers.MISSING
    short = re.sub(r"[0-9a-f]{40}", lambda match: match[0][:8], revision)
    return short.removesuffix("-dirty") + LOCAL_CHANGES if short.endswith("-dirty") else short


def course(past: TaskHistory, console: Console, longest: int = LONGEST_LINE) -> str:
    """Return the scores of the last results as a sparkline, the latest last."""
    timed = {entry.id for entry in past.timed}
    shown = list(past.entries[:longest])[::-1]
    values = [past.score(entry).value if entry.id in timed else None for entry in shown]
    return sparkline(values, encoding=console.encoding)


def _course(past: TaskHistory, console: Console) -> Iterator[Text]:
    measure = "ratio to MLX" if past.by_reference else "speed"
    line = f"  course    {course(past, console)}"
    yield Text(line).append(f"  {measure}, the latest last{_explain_missing(line)}", style=QUIET)
    last = past.incorrect
    if last is not None:
        when = last.recorded_at[:16].replace("T", " ")
        source = f"run:{last.run}, source {last.source_hash[:8]}"
        yield Text(f"  latest    {last.status}", style=BAD).append(
            f"  ({when}, {source}, revision {revision_text(last.commit)})", style="default"
        )
    of_latest = "latest" if last is None else "correct"
    for name, entry in ((of_latest, past.latest), ("best", past.best)):
        if entry is not None:
            yield Text(f"  {name:<8}  {_one(entry)}")


def _explain_missing(line: str) -> str:
    return f"; {MISSING_MEANS}" if SPARKLINE_MISSING in line else ""


def _one(entry: HistoryEntry) -> str:
    ratio = "" if entry.ratio is None else f", {numbers.ratio(entry.ratio)}"
    when = entry.recorded_at[:16].replace("T", " ")
    shown = entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns
    return (
        f"{numbers.time(shown)}{ratio}  ({when}, run:{entry.run}, source {entry.source_hash[:8]}, "
        f"revision {revision_text(entry.commit)})"
    )


def _judgements(past: TaskHistory) -> Iterator[Text]:
    found = (("previous", past.against_previous), ("best", past.against_best))
    for name, judgement in found:
        if judgement is not None:
            yield from _judgement(name, judgement)
    if any(judgement is not None for _, judgement in found) and past.spread.deviation:
        known = " is assumed, because few runs are known" if past.spread.is_assumed else ""
        yield Text(
            f"  The intervals include the deviation between runs of the same source: "
            f"{100 * past.spread.deviation:.1f} %{known}.",
            style=QUIET,
        )
    if past.regressed:
        yield Text(
            "  A regression: `metalbench compare NAME@REVISION` runs both versions in turn.",
            style=WARNING,
        )


def _judgement(name: str, judgement: Judgement) -> Iterator[Text]:
    verdict = judgement.verdict
    text = Text(f"  latest against {name}: {numbers.ratio(judgement.ratio)} ")
    yield text.append(verdict.value, VERDICT_STYLES[verdict])
    for reason in judgement.reasons:
        yield Text(f"    {reason}.", style=WARNING)


def _table(entries: Sequence[HistoryEntry], console: Console) -> Table:
    """Return a table with one line for each result, or two if the console is too narrow."""
    rows = [_cells(entry) for entry in entries]
    if not any(entry.gpu_ns is not None for entry in entries):
        rows = [row[:-1] for row in rows]
    wide = plain_table(terminal=console.is_terminal)
    for name in COLUMNS[: len(rows[0])]:
        wide.add_column(name, no_wrap=True)
    for row in rows:
        wide.add_row(*(cell.replace("\n", " ") for cell in row))
    if fits_width(wide, console):
        return wide
    narrow = plain_table(terminal=console.is_terminal, gap=1)
    for name in NARROW_COLUMNS[: len(rows[0]) - 3]:
        narrow.add_column(name, no_wrap=name != RATIO)
    for when, revision, size, dtype, source, status, *measured in rows:
        paired = (f"{when}\n{revision}", f"{size}\n{dtype}", f"{source}\n{status}")
        narrow.add_row(*paired, *measured)
    return narrow


def _cells(entry: HistoryEntry) -> list[str]:
    """Return cells in the order of `COLUMNS`; intervals are below their estimates."""
    verdict = f" {entry.verdict}" if entry.verdict else ""
    ratio, *ends = numbers.ratio(entry.ratio).split(" [")
    return [
        entry.recorded_at[:16].replace("T", " "),
        revision_text(entry.commit),
        entry.size,
        entry.dtype,
        entry.source_hash[:8],
        entry.status,
        numbers.time(entry.kernel_ns).replace(" [", "\n["),
        "\n[".join((ratio, *ends)) + verdict,
        numbers.time(entry.gpu_ns).replace(" [", "\n["),
    ]


# The histories of all tasks, one line each, and their regressions.

OVERVIEW_LONGEST_LINE = 20
NARROW_LONGEST_LINE = 8
OVERVIEW_COLUMNS = (
    "task",
    "size",
    "dtype",
    "results",
    "course",
    "latest",
    "MLX / kernel",
    "previous",
    "best",
)


def overview(pasts: Mapping[str, Sequence[TaskHistory]], console: Console) -> Group:
    """Return a table for each device, then the kernels that are incorrect or became slower."""
    pasts = {
        task: [each for each in found if not _is_superseded(each, found)]
        for task, found in pasts.items()
    }
    devices: dict[str, list[TaskHistory]] = {}
    for past in (past for found in pasts.values() for past in found):
        first = past.entries[0]
        devices.setdefault(f"{first.device_kind} ({first.device_name})", []).append(past)
    blocks: list[Text | Table] = []
    for device, found in devices.items():
        dtypes = {past.entries[0].dtype for past in found}
        title = f"{device}, {dtypes.pop()}" if len(dtypes) == 1 else device
        blocks += [Text(title, style=QUIET), _make_overview_table(found, console), Text()]
    every = [past for found in pasts.values() for past in found]
    wrong = [past.incorrect for past in every if past.incorrect is not None]
    if wrong:
        names = (f"{each.task} ({each.status} in run:{each.run})" for each in wrong)
        line = f"Not correct in the latest run: {', '.join(names)}."
        blocks.append(Text(line, style=BAD))
    if any(SPARKLINE_MISSING in course(each, console, OVERVIEW_LONGEST_LINE) for each in every):
        blocks.append(Text(f"Course: {MISSING_MEANS}.", style=QUIET))
    slower = [task for task, found in pasts.items() if any(past.regressed for past in found)]
    if slower:
        line = f"Slower than before: {', '.join(slower)}; `metalbench history NAME` tells more."
        blocks.append(Text(line, style=WARNING))
    return Group(*blocks)


def _is_superseded(past: TaskHistory, found: Sequence[TaskHistory]) -> bool:
    """Return whether `past` has failures of no size, and a later result of a size is in `found`.

    A kernel that fails before its size is known is a history without a size.
    """
    last = past.entries[0]
    return not last.size and any(
        each.entries[0].id > last.id
        and (each.entries[0].device_name, each.entries[0].dtype) == (last.device_name, last.dtype)
        for each in found
    )


def _make_overview_table(pasts: Sequence[TaskHistory], console: Console) -> Table:
    """Return the table of a device; columns with one value are left out.

    If one line for each history is too wide for `console`, intervals and verdicts go below their
    estimates, sizes below their tasks, and the number of results is left out.
    """
    wide = _fill_overview_table(pasts, console, narrow=False)
    return wide if fits_width(wide, console) else _fill_overview_table(pasts, console, narrow=True)


def _fill_overview_table(pasts: Sequence[TaskHistory], console: Console, *, narrow: bool) -> Table:
    several_dtypes = len({past.entries[0].dtype for past in pasts}) > 1
    left_out = {"size", "results"} if narrow else set[str]()
    left_out |= set() if several_dtypes else {"dtype"}
    shown = [name not in left_out for name in OVERVIEW_COLUMNS]
    table = plain_table(terminal=console.is_terminal)
    for name in compress(OVERVIEW_COLUMNS, shown):
        table.add_column(name, overflow="fold", no_wrap=name == "course")
    for past in pasts:
        first = past.entries[0]
        size = first.size if first.mode == "warm" else f"{first.size} {first.mode}"
        line = course(past, console, NARROW_LONGEST_LINE if narrow else OVERVIEW_LONGEST_LINE)
        cells = [first.task, size, first.dtype, str(len(past.entries)), line, *_latest_cells(past)]
        if narrow:
            below = size.replace(",", ",\n")
            cells[0] = f"{first.task}\n{below}".rstrip()
            cells[5:] = [break_before_detail(each) for each in cells[5:]]
        table.add_row(*compress(cells, shown))
    return table


def _latest_cells(past: TaskHistory) -> tuple[str | Text, ...]:
    """Return the latest result: time, ratio and verdicts, or that it is not correct."""
    latest, last = past.latest, past.incorrect
    if last is not None:
        return (Text(last.status, style=BAD), *[Text(numbers.MISSING, style=QUIET)] * 3)
    return (
        numbers.time(None if latest is None else latest.gpu_ns or latest.kernel_ns),
        numbers.ratio(latest.ratio if latest else None),
        _verdict(past.against_previous),
        _verdict(past.against_best),
    )


def _verdict(judgement: Judgement | None) -> Text:
    if judgement is None:
        return Text(numbers.MISSING, style=QUIET)
    verdict = judgement.verdict
    ratio = f"{numbers.estimate(judgement.ratio)}x "
    return Text(ratio).append(verdict.value, VERDICT_STYLES[verdict])


# The JSON that the top of this file describes.

SCHEMA = 1
PLAIN = (
    *("id", "run", "recorded_at", "source_hash", "status", "revision", "project_revision"),
    *("mlx", "form", "verdict"),
)
INTERVALS = ("kernel_ns", "gpu_ns", "ratio")


def history_json(task: str, pasts: Sequence[TaskHistory]) -> str:
    """Return the histories of `task` as the JSON described above."""
    document = {"schema": SCHEMA, "task": task, "pasts": [_past(each) for each in pasts]}
    return json_text(document, indent=2) + "\n"


def all_json(pasts: Mapping[str, Sequence[TaskHistory]]) -> str:
    """Return the histories of several tasks as the JSON described above."""
    tasks = [
        {"task": task, "pasts": [_past(each) for each in found]} for task, found in pasts.items()
    ]
    return json_text({"schema": SCHEMA, "tasks": tasks}, indent=2) + "\n"


def _past(past: TaskHistory) -> dict[str, Any]:
    first = past.entries[0]
    return {
        "device": f"{first.device_kind} ({first.device_name})",
        "size": first.size,
        "dtype": first.dtype,
        "mode": first.mode,
        "sizes": dict(first.sizes),
        "by": BY_REFERENCE if past.by_reference else BY_TIME,
        "spread": past.spread.deviation,
        "repeats": past.spread.repeats,
        "latest": past.latest.id if past.latest else None,
        "best": past.best.id if past.best else None,
        "against_previous": _judgement_fields(past.against_previous),
        "against_best": _judgement_fields(past.against_best),
        "regressed": past.regressed,
        "results": [_entry(each) for each in past.entries],
    }


def _judgement_fields(judgement: Judgement | None) -> dict[str, Any] | None:
    if judgement is None:
        return None
    return {
        "ratio": interval_json(judgement.ratio),
        "verdict": judgement.verdict.value,
        "p_value": judgement.p_value,
        "reasons": [asdict(reason) for reason in judgement.reasons],
    }


def _entry(entry: HistoryEntry) -> dict[str, Any]:
    plain = {name: getattr(entry, name) for name in PLAIN}
    return plain | {name: interval_json(getattr(entry, name)) for name in INTERVALS}
