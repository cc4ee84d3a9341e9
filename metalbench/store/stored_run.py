"""Read a stored run with everything that a report shows of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metalbench.store.history import HistoryEntry, read_results
from metalbench.store.result import DeviceFacts, Failure

_RUN = """
SELECT started_at, finished_at, outcome, options, device_kind, device_name, device_chip,
       device_cores, coalesce(device_capabilities, '{}'), project_revision, environments.json
FROM runs JOIN environments ON environments.id = environment WHERE runs.id = ?
"""
_DETAILS = """
SELECT results.id, task_set, text, failures, coalesce(notes, '[]'), coalesce(reasons, '[]'),
       gflops, gbytes_per_s, floor_ns, gpu_floor_ns
FROM results JOIN sources ON hash = source WHERE run = ? ORDER BY results.id
"""


@dataclass(frozen=True)
class StoredResult:
    """A result of a run. Throughput is in 10^9 per second.

    `reasons` explain a missing verdict. `floor_ns` is a pass of an empty kernel on the clock of the
    work's time.
    """

    entry: HistoryEntry
    set: str
    source: str
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    reasons: tuple[str, ...]
    gflops: float | None
    gbytes_per_s: float | None
    floor_ns: float | None


@dataclass(frozen=True)
class StoredRun:
    """A run of the store: its time, command line, device and environment, and its results."""

    number: int
    started_at: str
    finished_at: str | None
    outcome: str | None
    options: Mapping[str, Any]
    device: DeviceFacts
    environment: Mapping[str, Any]
    results: Sequence[StoredResult]
    project_revision: str | None = None

    @property
    def command_line(self) -> str:
        """The command that made the run; empty for runs of earlier versions."""
        return str(self.options.get("command_line") or "")

    @property
    def revision(self) -> str | None:
        """The commit of metalbench; None outside of a checkout."""
        return self.environment.get("revision")

    @property
    def engine(self) -> str:
        """The execution mode of the cpu device for kernels with barriers."""
        # Old rows lack it; fibers was the only one then.
        return self.environment.get("engine") or "fibers"


def read_stored_run(connection: sqlite3.Connection, number: int) -> StoredRun | None:
    """Return run `number`, which may have no results; None if it does not exist."""
    row = connection.execute(_RUN, (number,)).fetchone()
    entries = {each.id: each for each in read_results(connection, number)}
    if row is None:
        return None
    (
        started_at,
        finished_at,
        outcome,
        options,
        *device,
        capabilities,
        project_revision,
        environment,
    ) = row
    kind, name, chip, cores = device
    details = connection.execute(_DETAILS, (number,))
    return StoredRun(
        number,
        started_at,
        finished_at,
        outcome,
        json.loads(options),
        DeviceFacts(kind, name, chip, cores, json.loads(capabilities)),
        json.loads(environment),
        tuple(_result(entries[identity], *columns) for identity, *columns in details),
        project_revision,
    )


def _result(entry: HistoryEntry, *columns: Any) -> StoredResult:
    name, source, failures, notes, reasons, gflops, gbytes, floor_ns, gpu_floor_ns = columns
    return StoredResult(
        entry,
        name,
        source,
        tuple(Failure(**each) for each in json.loads(failures)),
        tuple(json.loads(notes)),
        tuple(f"{each['seen']}; {each['remedy']}" for each in json.loads(reasons)),
        gflops,
        gbytes,
        floor_ns if entry.gpu_ns is None else gpu_floor_ns,
    )
