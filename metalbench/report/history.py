"""The history of a task: tables, a sparkline, and regressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.report import numbers
from metalbench.report.plain import plain_table
from metalbench.report.sparkline import sparkline
from metalbench.report.styles import HEADING, QUIET, VERDICT_STYLES, WARNING
from metalbench.store import HistoryEntry

if TYPE_CHECKING:
    from metalbench.comparison.past import TaskHistory
    from metalbench.stats import Judgement

LONGEST_LINE = 60
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
    return Group(*blocks, Text(), _table(past.entries, console), Text())


def history_tables(
    entries: Sequence[HistoryEntry], console: Console
) -> Iterator[tuple[str, Table]]:
    """Yield one table for each device, with its name: times of different devices do not compare."""

    def device(entry: HistoryEntry) -> tuple[str, str]:
        return entry.device_kind, entry.device_name

    # Sorting is stable: within a device the latest stays first.
    for (kind, name), same in groupby(sorted(entries, key=device), device):
        yield f"{kind} ({name})", _table(list(same), console)


def revision_text(revision: str | None) -> str:
    """Return ``1a2b3c4d`` or ``v1.0-3-g1a2b3c4d``, with ``+`` for local changes; else a dash."""
    if revision is None:
        return numbers.MISSING
    short = re.sub(r"[0-9a-f]{40}", lambda match: match[0][:8], revision)
    return f"{short.removesuffix('-dirty')}+" if short.endswith("-dirty") else short


def course(past: TaskHistory, console: Console, longest: int = LONGEST_LINE) -> str:
    """Return the scores of the last results as a sparkline, the latest last."""
    timed = {entry.id for entry in past.timed}
    shown = list(past.entries[:longest])[::-1]
    values = [past.score(entry).value if entry.id in timed else None for entry in shown]
    return sparkline(values, encoding=console.encoding)


def _course(past: TaskHistory, console: Console) -> Iterator[Text]:
    measure = "ratio to MLX" if past.by_reference else "speed"
    line = f"  course    {course(past, console)}"
    yield Text(line).append(f"  {measure}, the latest last", style=QUIET)
    for name, entry in (("latest", past.latest), ("best", past.best)):
        if entry is not None:
            yield Text(f"  {name:<8}  {_one(entry)}")


def _one(entry: HistoryEntry) -> str:
    ratio = "" if entry.ratio is None else f", {numbers.ratio(entry.ratio)}"
    when = entry.recorded_at[:16].replace("T", " ")
    shown = entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns
    return (
        f"{numbers.time(shown)}{ratio}  ({when}, run:{entry.run}, source {entry.source_hash[:8]}, "
        f"revision {revision_text(entry.revision)})"
    )


def _judgements(past: TaskHistory) -> Iterator[Text]:
    found = (("previous", past.against_previous), ("best", past.against_best))
    for name, judgement in found:
        if judgement is not None:
            yield from _judgement(name, judgement)
    if any(judgement is not None for _, judgement in found) and past.spread.deviation:
        known = ": so much is assumed until they show it" if past.spread.is_assumed else ""
        yield Text(
            f"  Runs of the same source differ by {100 * past.spread.deviation:.1f} % beyond their "
            f"intervals, which is allowed for{known}.",
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
    unlimited = console.options.update(max_width=10 * console.width)
    if console.measure(wide, options=unlimited).maximum <= console.width:
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
        revision_text(entry.revision),
        entry.size,
        entry.dtype,
        entry.source_hash[:8],
        entry.status,
        numbers.time(entry.kernel_ns).replace(" [", "\n["),
        "\n[".join((ratio, *ends)) + verdict,
        numbers.time(entry.gpu_ns).replace(" [", "\n["),
    ]
