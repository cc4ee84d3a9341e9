"""A task's past, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from metalbench.report import numbers
from metalbench.report.plain import plain_table
from metalbench.store import HistoryEntry

ONE_LINE_WIDTH = 125


def history_tables(
    entries: Sequence[HistoryEntry], console: Console
) -> Iterator[tuple[str, Table]]:
    """One table for each device, with the device's name: what two of them took does not compare."""

    def device(entry: HistoryEntry) -> tuple[str, str]:
        return entry.device_kind, entry.device_name

    # Sorting is stable: within a device the latest stays first.
    for (kind, name), same in groupby(sorted(entries, key=device), device):
        yield f"{kind} ({name})", _table(list(same), console)


def _table(entries: Sequence[HistoryEntry], console: Console) -> Table:
    table = plain_table(terminal=console.is_terminal)
    with_gpu = any(entry.gpu_ns is not None for entry in entries)
    columns = ["when", "size", "dtype", "source", "status", "kernel", "MLX / kernel"]
    for name in [*columns, "GPU time"] if with_gpu else columns:
        table.add_column(name, no_wrap=True)
    between = " " if console.width >= ONE_LINE_WIDTH else "\n"
    for entry in entries:
        table.add_row(
            entry.recorded_at[:16].replace("T", " "),
            entry.size,
            entry.dtype,
            entry.source_hash[:8],
            entry.status,
            numbers.time(entry.kernel_ns).replace(" [", f"{between}["),
            numbers.ratio(entry.ratio).replace(" [", f"{between}[") + f" {entry.verdict or ''}",
            *([numbers.time(entry.gpu_ns).replace(" [", f"{between}[")] if with_gpu else []),
        )
    return table
