"""The histories of all tasks, one line each, and their regressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from metalbench.report import numbers
from metalbench.report.history import course
from metalbench.report.plain import plain_table
from metalbench.report.styles import QUIET, VERDICT_STYLES, WARNING

if TYPE_CHECKING:
    from metalbench.comparison.past import TaskHistory
    from metalbench.stats import Judgement

LONGEST_LINE = 20
COLUMNS = (
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
    """Return a table for each device, then the kernels that became slower."""
    devices: dict[str, list[TaskHistory]] = {}
    for past in (past for found in pasts.values() for past in found):
        first = past.entries[0]
        devices.setdefault(f"{first.device_kind} ({first.device_name})", []).append(past)
    blocks: list[Text | Table] = []
    for device, found in devices.items():
        blocks += [Text(device, style=QUIET), _table(found, console), Text()]
    slower = [task for task, found in pasts.items() if any(past.regressed for past in found)]
    if slower:
        line = f"Slower than before: {', '.join(slower)}; `metalbench history NAME` tells more."
        blocks.append(Text(line, style=WARNING))
    return Group(*blocks)


def _table(pasts: Sequence[TaskHistory], console: Console) -> Table:
    table = plain_table(terminal=console.is_terminal)
    for name in COLUMNS:
        table.add_column(name, no_wrap=name in ("task", "course"))
    for past in pasts:
        first, latest = past.entries[0], past.latest
        table.add_row(
            first.task,
            first.size if first.mode == "warm" else f"{first.size} {first.mode}",
            first.dtype,
            str(len(past.entries)),
            course(past, console, LONGEST_LINE),
            numbers.time(None if latest is None else latest.gpu_ns or latest.kernel_ns),
            numbers.ratio(latest.ratio if latest else None),
            _verdict(past.against_previous),
            _verdict(past.against_best),
        )
    return table


def _verdict(judgement: Judgement | None) -> Text:
    if judgement is None:
        return Text(numbers.MISSING, style=QUIET)
    verdict = judgement.verdict
    ratio = f"{numbers.estimate(judgement.ratio)}x "
    return Text(ratio).append(verdict.value, VERDICT_STYLES[verdict])
