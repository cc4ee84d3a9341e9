"""A task's past, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from metalbench.report import numbers
from metalbench.report.plain import plain_table
from metalbench.store import HistoryEntry


def history_table(entries: Sequence[HistoryEntry], *, terminal: bool) -> Table:
    """Build one line for each earlier result; the device has a column: they do not compare."""
    table = plain_table(terminal=terminal)
    columns = ("when", "device", "size", "dtype", "source", "status", "kernel", "MLX / kernel")
    for name in columns:
        table.add_column(name, no_wrap=name in {"when", "source"})
    for entry in entries:
        table.add_row(
            entry.recorded_at[:16].replace("T", " "),
            entry.device_kind,
            entry.size,
            entry.dtype,
            entry.source_hash[:8],
            entry.status,
            numbers.time(entry.kernel_ns),
            f"{numbers.ratio(entry.ratio)} {entry.verdict or ''}".rstrip(),
        )
    return table
