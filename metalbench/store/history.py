"""Read stored results by task, by run and by number."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench.errors import StoreError
from metalbench.stats import Interval

FACTS = {
    "id": "results.id",
    "run": "run",
    "recorded_at": "recorded_at",
    "device_kind": "device_kind",
    "device_name": "device_name",
    "task": "task",
    "size": "size",
    "dtype": "dtype",
    "kernel": "kernel",
    "source_hash": "source",
    "status": "status",
    "verdict": "verdict",
    "mode": "coalesce(mode, 'warm')",
    "clock": "clock",
    "p_value": "p_value",
    "revision": "json_extract(environments.json, '$.revision')",
    "mlx": "json_extract(environments.json, '$.versions.mlx')",
    # Old rows lack the mode; fibers was the only one then.
    "engine": "coalesce(json_extract(environments.json, '$.engine'), 'fibers')",
    "form": (
        "(SELECT json_extract(value, '$.name') FROM json_each(coalesce(forms, '[]'))"
        " WHERE json_extract(value, '$.compared') LIMIT 1)"
    ),
    "tunables": "tunables",
    "sizes": "sizes",
    "metal_tools": "coalesce(json_extract(device_state, '$.metal_tools'), '[]')",
}
OBJECTS = ("tunables", "sizes", "metal_tools")
INTERVALS = ("kernel_ns", "reference_ns", "ratio", "gpu_ns", "gpu_ratio", "wall_ratio")
RESULTS = f"""
SELECT {", ".join(FACTS.values())},
       {", ".join(f"{name}, {name}_low, {name}_high" for name in INTERVALS)}
FROM results JOIN runs ON runs.id = results.run
     JOIN environments ON environments.id = runs.environment
"""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One stored result of a task; times in nanoseconds, `source_hash` of the kernel's text.

    `revision` is metalbench's, None outside of a checkout. `mlx` is the version of the reference,
    and `form` its form if several were timed. `metal_tools` are the environment variables of
    Metal's tools that were set, with which times are longer.
    """

    id: int
    run: int
    recorded_at: str
    device_kind: str
    device_name: str
    task: str
    size: str
    dtype: str
    kernel: str
    source_hash: str
    status: str
    verdict: str | None
    mode: str
    clock: str | None
    p_value: float | None
    revision: str | None
    mlx: str | None
    engine: str
    form: str | None
    tunables: Mapping[str, int]
    sizes: Mapping[str, int]
    kernel_ns: Interval | None
    reference_ns: Interval | None
    ratio: Interval | None
    gpu_ns: Interval | None
    gpu_ratio: Interval | None = None
    wall_ratio: Interval | None = None
    metal_tools: Sequence[str] = ()

    @property
    def conditions(self) -> tuple[object, ...]:
        """The conditions that results of a task must share to be comparable."""
        sizes = tuple(sorted(self.sizes.items()))
        device = (self.device_kind, self.device_name, self.engine)
        return (
            *device,
            self.size,
            sizes,
            self.dtype,
            self.mode,
            self.clock or "",
            *self.metal_tools,
        )


def read_history(connection: sqlite3.Connection, task: str, limit: int) -> list[HistoryEntry]:
    """Return up to `limit` results of `task`, the latest first."""
    where = "WHERE task = ? ORDER BY results.id DESC LIMIT ?"
    return [_entry(row) for row in connection.execute(RESULTS + where, (task, limit))]


def read_results(connection: sqlite3.Connection, run: int) -> list[HistoryEntry]:
    """Return every result of a run, in order."""
    where = "WHERE run = ? ORDER BY results.id"
    return [_entry(row) for row in connection.execute(RESULTS + where, (run,))]


def read_result(connection: sqlite3.Connection, result: int) -> HistoryEntry:
    """Return result number `result`; raises StoreError if it does not exist."""
    row = connection.execute(RESULTS + "WHERE results.id = ?", (result,)).fetchone()
    if row is None:
        raise StoreError(f"[store] result {result} does not exist")
    return _entry(row)


def _entry(row: tuple[object, ...]) -> HistoryEntry:
    facts: dict[str, object] = dict(zip(FACTS, row, strict=False))
    facts |= {name: json.loads(str(facts[name])) for name in OBJECTS}
    places = range(len(FACTS), len(row), 3)
    for name, place in zip(INTERVALS, places, strict=True):
        facts[name] = _interval(*row[place : place + 3])  # type: ignore[arg-type]
    return HistoryEntry(**facts)  # type: ignore[arg-type]


def _interval(value: float | None, low: float | None, high: float | None) -> Interval | None:
    """Join an interval's three columns; None if nothing was measured."""
    if value is None:
        return None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)
