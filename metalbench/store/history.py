"""What the store knows of a task's past."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from metalbench.stats import Interval

FACTS = {
    "id": "results.id",
    "recorded_at": "recorded_at",
    "device_kind": "device_kind",
    "device_name": "device_name",
    "size": "size",
    "dtype": "dtype",
    "kernel": "kernel",
    "source_hash": "source",
    "status": "status",
    "verdict": "verdict",
}
INTERVALS = ("kernel_ns", "ratio", "gpu_ns")
QUERY = f"""
SELECT {", ".join(FACTS.values())},
       {", ".join(f"{name}, {name}_low, {name}_high" for name in INTERVALS)}
FROM results JOIN runs ON runs.id = results.run
WHERE task = ? ORDER BY results.id DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One earlier result of a task; times in nanoseconds, `source_hash` of the kernel's text."""

    id: int
    recorded_at: str
    device_kind: str
    device_name: str
    size: str
    dtype: str
    kernel: str
    source_hash: str
    status: str
    verdict: str | None
    kernel_ns: Interval | None
    ratio: Interval | None
    gpu_ns: Interval | None


def history(connection: sqlite3.Connection, task: str, limit: int) -> list[HistoryEntry]:
    """Up to `limit` results of `task`, the latest first."""
    entries = []
    for row in connection.execute(QUERY, (task, limit)):
        facts = dict(zip(FACTS, row, strict=False))
        kernel, ratio, gpu = (_interval(*row[i : i + 3]) for i in range(len(FACTS), len(row), 3))
        entries.append(HistoryEntry(**facts, kernel_ns=kernel, ratio=ratio, gpu_ns=gpu))
    return entries


def _interval(value: float | None, low: float | None, high: float | None) -> Interval | None:
    """Join an interval's three columns; None where nothing was measured."""
    if value is None:
        return None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)
