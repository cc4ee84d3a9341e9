"""The store: runs go in, kernel by kernel; history comes out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.store.connection import connect, explained, transaction
from metalbench.store.history import HistoryEntry, history

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metalbench.environment import Environment
    from metalbench.measure import SampleSet
    from metalbench.result import DeviceFacts, Result
    from metalbench.stats import Interval


class Store:
    """An open store. Every method raises StoreError if the file cannot be read or written.

    Each finished kernel is one transaction: a process that is killed loses none of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = connect(path)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._connection.close()

    def begin_run(
        self, options: Mapping[str, Any], device: DeviceFacts, environment: Environment
    ) -> int:
        """Record that a run starts, and return its number."""
        described = json.dumps(environment.as_dict(), sort_keys=True)
        with explained(self.path), transaction(self._connection):
            self._connection.execute(
                "INSERT OR IGNORE INTO environments (json) VALUES (?)", (described,)
            )
            row = self._connection.execute(
                "SELECT id FROM environments WHERE json = ?", (described,)
            ).fetchone()
            return self._insert(
                "runs",
                started_at=_now(),
                options=json.dumps(options, sort_keys=True),
                device_kind=device.kind,
                device_name=device.name,
                device_chip=device.chip,
                device_cores=device.cores,
                environment=row[0],
                device_capabilities=json.dumps(dict(device.capabilities), sort_keys=True),
            )

    def record(self, run: int, result: Result) -> int:
        """Keep one finished kernel with all its samples, and return the result's number."""
        case = result.case
        with explained(self.path), transaction(self._connection):
            self._connection.execute(
                "INSERT OR IGNORE INTO sources (hash, text) VALUES (?, ?)",
                (case.source_hash, case.source),
            )
            number = self._insert("results", run=run, recorded_at=_now(), **_columns(result))
            if result.measurement is not None:
                self._keep_samples(number, result.measurement.samples)
        return number

    def finish_run(self, run: int, outcome: str) -> None:
        """Record how a run ended: 'finished', 'interrupted' or 'stopped'."""
        with explained(self.path), transaction(self._connection):
            self._connection.execute(
                "UPDATE runs SET finished_at = ?, outcome = ? WHERE id = ?", (_now(), outcome, run)
            )

    def history(self, task: str, limit: int = 10) -> list[HistoryEntry]:
        """Up to `limit` results of `task`, the latest first."""
        with explained(self.path):
            return history(self._connection, task, limit)

    def samples(self, result: int) -> dict[str, NDArray[Any]]:
        """Raw samples of a result by series: kernel, reference, floor (ns), kernel_first.

        Of a device with a clock of its own also gpu, counter, wall and encode, as in `OwnClock`.
        """
        import numpy as np

        with explained(self.path):
            rows = self._connection.execute(
                "SELECT series, dtype, data FROM samples WHERE result = ?", (result,)
            ).fetchall()
        return {series: np.frombuffer(data, dtype=dtype) for series, dtype, data in rows}

    def _insert(self, table: str, **columns: object) -> int:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(columns.values())
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _keep_samples(self, result: int, samples: SampleSet) -> None:
        passes = samples.candidate_window
        rows: list[tuple[str, int, str, NDArray[np.generic]]] = [
            ("kernel", passes, "<f8", samples.candidate_ns),
            ("reference", samples.reference_window, "<f8", samples.reference_ns),
            ("floor", passes, "<f8", samples.floor_ns),
            ("kernel_first", passes, "|u1", samples.candidate_first),
        ]
        if samples.own is not None:
            rows += [
                ("gpu", passes, "<f8", samples.own.device_ns),
                ("counter", passes, "<f8", samples.own.counter_ns),
                ("wall", passes, "<f8", samples.own.wall_ns),
                ("encode", 1, "<f8", samples.own.encode_ns),
            ]
        self._connection.executemany(
            "INSERT INTO samples (result, series, passes, dtype, data) VALUES (?, ?, ?, ?, ?)",
            [
                (result, series, window, dtype, sqlite3.Binary(values.astype(dtype).tobytes()))
                for series, window, dtype, values in rows
            ],
        )


def _columns(result: Result) -> dict[str, object]:
    case, measured, analysis = result.case, result.measurement, result.analysis
    columns: dict[str, object] = {
        "task": case.task,
        "task_set": case.set,
        "size": case.size,
        "sizes": json.dumps(dict(case.sizes)),
        "dtype": case.dtype,
        "kernel": case.kernel,
        "source": case.source_hash,
        "tunables": json.dumps(dict(case.tunables)),
        "status": result.status.value,
        "failures": json.dumps([asdict(failure) for failure in result.failures]),
        "checks": json.dumps([asdict(check) for check in result.checks]),
        "seconds": result.seconds,
        "device_state": json.dumps(dict(result.state), sort_keys=True),
        "notes": json.dumps(list(result.notes)),
    }
    if measured is not None:
        columns |= {
            **_interval("kernel_ns", measured.candidate_ns),
            **_interval("reference_ns", measured.reference_ns),
            **_interval("ratio", measured.ratio),
            **_interval("gpu_ns", measured.gpu_ns),
            "clock": measured.clock,
            "verdict": measured.verdict.value if measured.verdict else None,
            "stability": measured.stability,
            "floor_ns": measured.floor_ns,
            "stopped": measured.stopped.value,
        }
    if analysis is not None:
        columns["gflops"] = analysis.work.gflops.value
        columns["gbytes_per_s"] = analysis.work.gbytes_per_s.value
    return columns


def _interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {}
    low, high = (interval.low, interval.high) if interval.bounded else (None, None)
    return {name: interval.value, f"{name}_low": low, f"{name}_high": high}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
