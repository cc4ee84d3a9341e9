"""The store: runs go in, kernel by kernel; history comes out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.store.columns import columns
from metalbench.store.connection import connect, explained, transaction
from metalbench.store.evaluations import (
    Evaluation,
    Judged,
    evaluations_of,
    keep_evaluation,
)
from metalbench.store.evaluations import Place as SamplePlace
from metalbench.store.history import HistoryEntry, entry_of, history, results_of
from metalbench.store.records import (
    Claim,
    Place,
    Record,
    keep_record,
    place_of,
    record_at,
    records,
    records_of,
)
from metalbench.store.samples import read_samples, sample_rows
from metalbench.store.tunings import find_tuning, keep_tuning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metalbench.measure import SampleSet
    from metalbench.result import DeviceFacts, Result
    from metalbench.result.environment import Environment
    from metalbench.result.tuning import Tuning


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
        with explained(self.path), transaction(self._connection):
            return self._record(run, result)

    def finish_run(self, run: int, outcome: str) -> None:
        """Record how a run ended: 'finished', 'interrupted' or 'stopped'."""
        with explained(self.path), transaction(self._connection):
            self._connection.execute(
                "UPDATE runs SET finished_at = ?, outcome = ? WHERE id = ?", (_now(), outcome, run)
            )

    def evaluated(self, run: int, result: Result, place: SamplePlace, judged: Judged) -> None:
        """Keep a result as `record` does, and that it is what became of the sample at `place`."""
        with explained(self.path), transaction(self._connection):
            number = self._record(run, result)
            keep_evaluation(self._connection, place, number, judged)

    def evaluations(self, generation: str) -> list[Evaluation]:
        """The latest evaluation of every sample of a generation, by level, problem and sample."""
        with explained(self.path):
            return evaluations_of(self._connection, generation)

    def keep_tuning(self, device: DeviceFacts, tuning: Tuning) -> None:
        """Keep a tuning in place of an earlier one of the same device, kernel, type and size."""
        with explained(self.path), transaction(self._connection):
            keep_tuning(self._connection, device, tuning)

    def tuning(
        self, device: DeviceFacts, source_hash: str, *, engine: str, dtype: str, size: str
    ) -> Tuning | None:
        """Return the tuning of a kernel's text on `device`: that of `size`, else the latest one."""
        with explained(self.path):
            return find_tuning(
                self._connection, device, source_hash, engine=engine, dtype=dtype, size=size
            )

    def place_of(self, result: int) -> Place:
        """Of what result number `result` could be the record."""
        with explained(self.path):
            return place_of(self._connection, result)

    def keep_record(self, place: Place, claim: Claim) -> bool:
        """Make a result the record of `place`; False if another has become it in the meantime.

        `metalbench.leaderboard` decides what may.
        """
        with explained(self.path), transaction(self._connection):
            return keep_record(self._connection, place, claim, _now())

    def record_at(self, place: Place) -> Record | None:
        """Return the record of `place`; None if there is none yet."""
        with explained(self.path):
            return record_at(self._connection, place)

    def records(self) -> list[Record]:
        """Every place's record, by task."""
        with explained(self.path):
            return records(self._connection)

    def records_of(self, place: Place) -> list[Record]:
        """All that were the record of `place`, the latest first."""
        with explained(self.path):
            return records_of(self._connection, place)

    def result(self, number: int) -> HistoryEntry:
        """Result number `number`; raises StoreError if there is none."""
        with explained(self.path):
            return entry_of(self._connection, number)

    def environment_of(self, result: int) -> dict[str, Any]:
        """The machine and software that result number `result` was obtained with."""
        with explained(self.path):
            row = self._connection.execute(
                "SELECT json FROM results JOIN runs ON runs.id = run JOIN environments ON "
                "environments.id = environment WHERE results.id = ?",
                (result,),
            ).fetchone()
        return dict(json.loads(row[0])) if row is not None else {}

    def history(self, task: str, limit: int = 10) -> list[HistoryEntry]:
        """Up to `limit` results of `task`, the latest first."""
        with explained(self.path):
            return history(self._connection, task, limit)

    def runs(self, limit: int = 10) -> list[int]:
        """Numbers of up to `limit` runs that have results, the latest first."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT DISTINCT run FROM results ORDER BY run DESC LIMIT ?", (limit,)
            ).fetchall()
        return [number for (number,) in rows]

    def baselines(self) -> dict[str, int]:
        """The names that finished runs were saved under, and the latest run of each."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT json_extract(options, '$.save') AS name, max(id) FROM runs WHERE outcome ="
                " 'finished' AND name IS NOT NULL GROUP BY name ORDER BY max(id) DESC"
            ).fetchall()
        return dict(rows)

    def tasks(self) -> list[str]:
        """Every task that has results, by name."""
        with explained(self.path):
            rows = self._connection.execute("SELECT DISTINCT task FROM results ORDER BY task")
            return [name for (name,) in rows]

    def results(self, run: int) -> list[HistoryEntry]:
        """Every result of run number `run`, in order; none if there is no such run."""
        with explained(self.path):
            return results_of(self._connection, run)

    def samples(self, result: int) -> dict[str, NDArray[Any]]:
        """Raw samples of a result by series: kernel, reference, floor (ns), kernel_first, look.

        `look` is the number of the look, which shares its inputs, that a pair is of; results of
        earlier versions lack it. Also probe, long, reference_long, probe_after_kernel and
        probe_after_reference where there are such, and of a
        device with a clock of its own gpu, counter, wall, encode, floor_gpu, reference_gpu and
        reference_wall, as in `OwnClock`.
        """
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT series, dtype, data FROM samples WHERE result = ?", (result,)
            ).fetchall()
        return read_samples(rows)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection for queries that other packages own, all of them or none.

        Tables are the store's alone; see `metalbench.store.schema`.
        """
        with explained(self.path), transaction(self._connection):
            yield self._connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection for queries that only read, which wait for nobody."""
        with explained(self.path):
            yield self._connection

    def _record(self, run: int, result: Result) -> int:
        case = result.case
        self._connection.execute(
            "INSERT OR IGNORE INTO sources (hash, text) VALUES (?, ?)",
            (_storable(case.source_hash), _storable(case.source)),
        )
        number = self._insert("results", run=run, recorded_at=_now(), **columns(result))
        if result.measurement is not None:
            self._keep_samples(number, result.measurement.samples)
        return number

    def _insert(self, table: str, **columns: object) -> int:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",
            tuple(map(_storable, columns.values())),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _keep_samples(self, result: int, samples: SampleSet) -> None:
        self._connection.executemany(
            "INSERT INTO samples (result, series, passes, dtype, data) VALUES (?, ?, ?, ?, ?)",
            [(result, *row) for row in sample_rows(samples)],
        )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _storable(value: object) -> object:
    """Return text without lone surrogates, which SQLite refuses: names of files may have them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
