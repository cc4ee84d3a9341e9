"""A task's past: tables, a line of its course, and whether it got slower."""

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
from metalbench.report.styles import HEADING, OF_VERDICT, QUIET, WARNING
from metalbench.store import HistoryEntry

if TYPE_CHECKING:
    from metalbench.comparison.past import Past
    from metalbench.stats import Judgement

ONE_LINE_WIDTH = 125
LONGEST_LINE = 60


def history_report(past: Past, console: Console) -> Group:
    """One past: its course, best, latest and what became slower, then every result."""
    entry = past.entries[0]
    extents = ", ".join(f"{name} {extent}" for name, extent in entry.sizes.items())
    title = Text(f"{entry.device_kind} ({entry.device_name})", style=HEADING)
    title.append(f"  {entry.size} ({extents}), {entry.dtype}, {entry.mode}", style="not bold")
    blocks: list[RenderableType] = [title, *_course(past, console), *_judgements(past)]
    return Group(*blocks, Text(), _table(past.entries, console), Text())


def history_tables(
    entries: Sequence[HistoryEntry], console: Console
) -> Iterator[tuple[str, Table]]:
    """One table for each device, with the device's name: what two of them took does not compare."""

    def device(entry: HistoryEntry) -> tuple[str, str]:
        return entry.device_kind, entry.device_name

    # Sorting is stable: within a device the latest stays first.
    for (kind, name), same in groupby(sorted(entries, key=device), device):
        yield f"{kind} ({name})", _table(list(same), console)


def revision_text(revision: str | None) -> str:
    """``1a2b3c4d`` or ``v1.0-3-g1a2b3c4d``, with ``+`` if there were changes; else a dash."""
    if revision is None:
        return numbers.MISSING
    short = re.sub(r"[0-9a-f]{40}", lambda match: match[0][:8], revision)
    return f"{short.removesuffix('-dirty')}+" if short.endswith("-dirty") else short


def _course(past: Past, console: Console) -> Iterator[Text]:
    timed = {entry.id for entry in past.timed}
    shown = list(past.entries[:LONGEST_LINE])[::-1]
    values = [past.score(entry).value if entry.id in timed else None for entry in shown]
    measure = "ratio to MLX" if past.by_reference else "speed"
    line = sparkline(values, encoding=console.encoding)
    yield Text(f"  course    {line}").append(f"  {measure}, the latest last", style=QUIET)
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


def _judgements(past: Past) -> Iterator[Text]:
    found = (("previous", past.against_previous), ("best", past.against_best))
    for name, judgement in found:
        if judgement is not None:
            yield from _judgement(name, judgement)
    if any(judgement is not None for _, judgement in found) and past.spread:
        yield Text(
            f"  Runs of the same source differ by {100 * past.spread:.1f} % beyond their "
            "intervals, which is allowed for.",
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
    yield text.append(verdict.value, OF_VERDICT[verdict])
    for reason in judgement.reasons:
        yield Text(f"    {reason}.", style=WARNING)


def _table(entries: Sequence[HistoryEntry], console: Console) -> Table:
    table = plain_table(terminal=console.is_terminal)
    with_gpu = any(entry.gpu_ns is not None for entry in entries)
    columns = ["when", "revision", "size", "dtype", "source", "status", "kernel", "MLX / kernel"]
    for name in [*columns, "GPU time"] if with_gpu else columns:
        table.add_column(name, no_wrap=True)
    between = " " if console.width >= ONE_LINE_WIDTH else "\n"
    for entry in entries:
        table.add_row(
            entry.recorded_at[:16].replace("T", " "),
            revision_text(entry.revision),
            entry.size,
            entry.dtype,
            entry.source_hash[:8],
            entry.status,
            numbers.time(entry.kernel_ns).replace(" [", f"{between}["),
            numbers.ratio(entry.ratio).replace(" [", f"{between}[") + f" {entry.verdict or ''}",
            *([numbers.time(entry.gpu_ns).replace(" [", f"{between}[")] if with_gpu else []),
        )
    return table
