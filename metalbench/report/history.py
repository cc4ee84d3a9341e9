"""A task's past, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from metalbench.report import numbers
from metalbench.report.plain import plain_table
from metalbench.store import HistoryEntry

ONE_LINE_WIDTH = 125


def history_table(entries: Sequence[HistoryEntry], console: Console) -> Table:
    """Build one line for each earlier result; the device has a column: they do not compare."""
    table = plain_table(terminal=console.is_terminal)
    columns = ("when", "device", "size", "dtype", "source", "status", "kernel", "MLX / kernel")
    for name in columns:
        table.add_column(name, no_wrap=True)
    between = " " if console.width >= ONE_LINE_WIDTH else "\n"
    for entry in entries:
        table.add_row(
            entry.recorded_at[:16].replace("T", " "),
            entry.device_kind,
            entry.size,
            entry.dtype,
            entry.source_hash[:8],
            entry.status,
            numbers.time(entry.kernel_ns).replace(" [", f"{between}["),
            numbers.ratio(entry.ratio).replace(" [", f"{between}[") + f" {entry.verdict or ''}",
        )
    return table
