"""The store: write runs kernel by kernel, and read results."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.errors import StoreError
from metalbench.store.database import connect, transaction, translate_errors
from metalbench.store.history import (
    Evaluation,
    HistoryEntry,
    SampleOutcome,
    SamplePlace,
    keep_evaluation,
    read_evaluations,
    read_history,
    read_result,
    read_results,
)
from metalbench.store.project import describe_revision, find_project, find_repository
from metalbench.store.records import (
    Record,
    RecordClaim,
    RecordPlace,
    find_tuning,
    keep_record,
    keep_tuning,
    read_place,
    read_record,
    read_records,
    read_records_at,
)
from metalbench.store.rows import read_samples, result_columns, sample_rows
from metalbench.store.stored_run import StoredRun, read_stored_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metalbench.measure.measurement import SampleSet
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts, Result, Tuning


# Stored options of a run. The first is the number of the run that it measures again in part. The
# second marks a run of a folder that has no kernels: such a run has no results.
REPEATS = "repeats"
WITHOUT_KERNELS = "without_kernels"
_IS_WITHOUT_KERNELS = f"(outcome = 'finished' AND json_extract(options, '$.{WITHOUT_KERNELS}') = 1)"

# Why a run has no results, by its outcome.
_ENDINGS = {
    "interrupted": "it was interrupted before its first kernel finished",
    "finished": "it finished without any",
    "stopped": "it was stopped before its first kernel finished",
}


class Store:
    """An open store. Every method raises StoreError if the file cannot be read or written.

    Each finished kernel is one transaction: a killed process loses none of them. New runs belong to
    `project`, by default that of the working directory. History, the latest runs and baselines are
    those of `project`; with `all_projects` they are of every project.
    """

    def __init__(
        self, path: Path, *, project: str | None = None, all_projects: bool = False
    ) -> None:
        self.path = path
        self._project = find_project() if project is None else project
        # Runs of earlier versions have no project. They belong to each.
        self._visible = "1" if all_projects else "(project IS NULL OR project = :project)"
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
        root = find_repository()
        with translate_errors(self.path), transaction(self._connection):
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
                project=self._project,
                project_revision=None if root is None else describe_revision(root),
            )

    def record(self, run: int, result: Result) -> int:
        """Store one finished kernel with all its samples, and return the result's number."""
        with translate_errors(self.path), transaction(self._connection):
            return self._record(run, result)

    def finish_run(self, run: int, outcome: str) -> None:
        """Record how a run ended: 'finished', 'interrupted' or 'stopped'."""
        with translate_errors(self.path), transaction(self._connection):
            self._connection.execute(
                "UPDATE runs SET finished_at = ?, outcome = ? WHERE id = ?", (_now(), outcome, run)
            )

    def record_evaluation(
        self, run: int, result: Result, place: SamplePlace, judged: SampleOutcome
    ) -> None:
        """Store a result as `record` does, as the evaluation of the sample at `place`."""
        with translate_errors(self.path), transaction(self._connection):
            number = self._record(run, result)
            keep_evaluation(self._connection, place, number, judged)

    def evaluations(self, generation: str) -> list[Evaluation]:
        """Return the latest evaluation of every sample, by level, problem and sample."""
        with translate_errors(self.path):
            return read_evaluations(self._connection, generation)

    def keep_tuning(self, device: DeviceFacts, tuning: Tuning) -> None:
        """Store a tuning in place of an earlier one of the same device, kernel, type and size."""
        with translate_errors(self.path), transaction(self._connection):
            keep_tuning(self._connection, device, tuning)

    def tuning(
        self, device: DeviceFacts, source_hash: str, *, engine: str, dtype: str, size: str
    ) -> Tuning | None:
        """Return the tuning of a kernel's text on `device`: that of `size`, else the latest one."""
        with translate_errors(self.path):
            return find_tuning(
                self._connection, device, source_hash, engine=engine, dtype=dtype, size=size
            )

    def place_of(self, result: int) -> RecordPlace:
        """Return the place of result number `result`."""
        with translate_errors(self.path):
            return read_place(self._connection, result)

    def keep_record(self, place: RecordPlace, claim: RecordClaim) -> bool:
        """Make a result the record of `place`; False if another one has become it in the meantime.

        `metalbench.compare` decides whether a result may become the record.
        """
        with translate_errors(self.path), transaction(self._connection):
            return keep_record(self._connection, place, claim, _now())

    def record_at(self, place: RecordPlace) -> Record | None:
        """Return the record of `place`; None if there is none yet."""
        with translate_errors(self.path):
            return read_record(self._connection, place)

    def records(self) -> list[Record]:
        """Return every place's record, by task."""
        with translate_errors(self.path):
            return read_records(self._connection)

    def records_of(self, place: RecordPlace) -> list[Record]:
        """Return the present and all previous records of `place`, the latest first."""
        with translate_errors(self.path):
            return read_records_at(self._connection, place)

    def result(self, number: int) -> HistoryEntry:
        """Return result number `number`; raises StoreError if it does not exist."""
        with translate_errors(self.path):
            return read_result(self._connection, number)

    def environment_of(self, result: int) -> dict[str, Any]:
        """Return the machine and software of result number `result`."""
        with translate_errors(self.path):
            row = self._connection.execute(
                "SELECT json FROM results JOIN runs ON runs.id = run JOIN environments ON "
                "environments.id = environment WHERE results.id = ?",
                (result,),
            ).fetchone()
        return dict(json.loads(row[0])) if row is not None else {}

    def history(self, task: str, limit: int = 10) -> list[HistoryEntry]:
        """Return up to `limit` results of `task`, the latest first."""
        with translate_errors(self.path):
            values = {"task": task, "limit": limit, **self._values}
            return read_history(self._connection, self._visible, values)

    def runs(self, limit: int = 10) -> list[int]:
        """Return the numbers of up to `limit` runs, the latest first.

        They have results, or are runs WITHOUT_KERNELS. Left out are runs that ended before their
        first result, and runs that repeat a part of another run, with the option REPEATS.
        """
        with translate_errors(self.path):
            rows = self._connection.execute(
                f"SELECT id FROM runs WHERE {self._visible}"
                f" AND json_extract(options, '$.{REPEATS}') IS NULL"
                f" AND ({_IS_WITHOUT_KERNELS} OR id IN (SELECT run FROM results))"
                " ORDER BY id DESC LIMIT :limit",
                {"limit": limit, **self._values},
            ).fetchall()
        return [number for (number,) in rows]

    def empty_run_device(self, run: int) -> tuple[str, str] | None:
        """Return kind and name of the device of a run WITHOUT_KERNELS, None for other runs."""
        with translate_errors(self.path):
            row = self._connection.execute(
                f"SELECT device_kind, device_name FROM runs WHERE id = ? AND {_IS_WITHOUT_KERNELS}",
                (run,),
            ).fetchone()
        return None if row is None else (row[0], row[1])

    def baselines(self) -> dict[str, int]:
        """Return the names of saved finished runs, and the latest run of each name."""
        with translate_errors(self.path):
            rows = self._connection.execute(
                "SELECT json_extract(options, '$.save') AS name, max(id) FROM runs WHERE outcome ="
                f" 'finished' AND name IS NOT NULL AND {self._visible} GROUP BY name"
                " ORDER BY max(id) DESC",
                self._values,
            ).fetchall()
        return dict(rows)

    def tasks(self) -> list[str]:
        """Return every task that has results, by name."""
        with translate_errors(self.path):
            rows = self._connection.execute(
                "SELECT DISTINCT task FROM results JOIN runs ON runs.id = run"
                f" WHERE {self._visible} ORDER BY task",
                self._values,
            )
            return [name for (name,) in rows]

    def results(self, run: int) -> list[HistoryEntry]:
        """Return every result of run number `run`, in order; an empty list for an unknown run."""
        with translate_errors(self.path):
            return read_results(self._connection, run)

    def read_run(self, number: int) -> StoredRun:
        """Return run `number` with its results.

        Raises StoreError if it has none, unless it was a run WITHOUT_KERNELS.
        """
        with translate_errors(self.path):
            run = read_stored_run(self._connection, number)
        if run is None or not (run.results or self.empty_run_device(number)):
            raise self.make_empty_run_error(number)
        return run

    def make_empty_run_error(self, run: int) -> StoreError:
        """Return the error of a run that does not exist, or that ended before its first result."""
        with translate_errors(self.path):
            row = self._connection.execute(
                "SELECT outcome FROM runs WHERE id = ?", (run,)
            ).fetchone()
        if row is None:
            what = f"run:{run} does not exist"
        else:
            what = f"run:{run} has no results: {_ENDINGS.get(row[0], 'it has not finished')}"
        known = self.runs(3)
        listed = ", ".join(f"run:{each}" for each in known)
        latest = f"the latest are {listed}" if known else "`metalbench run` makes one"
        return StoreError(f"[store] {self.path}: {what}; expected a run with results, {latest}")

    def samples(self, result: int) -> dict[str, NDArray[Any]]:
        """Return raw samples by series: kernel, reference, floor (ns), kernel_first, look.

        `look` is the number of each pair's batch; pairs of a batch share their inputs. Results of
        earlier versions lack it. Optional series are probe, long, reference_long,
        probe_after_kernel and probe_after_reference. A device with a separate clock adds gpu,
        counter, wall, encode, floor_gpu, reference_gpu and reference_wall, as in `OwnClock`.
        """
        with translate_errors(self.path):
            rows = self._connection.execute(
                "SELECT series, dtype, data FROM samples WHERE result = ?", (result,)
            ).fetchall()
        return read_samples(rows)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for queries of other packages, in one transaction.

        Only the store creates tables; see `metalbench.store.database`.
        """
        with translate_errors(self.path), transaction(self._connection):
            yield self._connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for queries that only read, which never wait."""
        with translate_errors(self.path):
            yield self._connection

    @property
    def _values(self) -> dict[str, str]:
        """The values of the condition `_visible`."""
        return {"project": _storable(self._project)}

    def _record(self, run: int, result: Result) -> int:
        case = result.case
        self._connection.execute(
            "INSERT OR IGNORE INTO sources (hash, text) VALUES (?, ?)",
            (_storable(case.source_hash), _storable(case.source)),
        )
        number = self._insert("results", run=run, recorded_at=_now(), **result_columns(result))
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


def _storable(value: Any) -> Any:
    """Return text without lone surrogates, which SQLite refuses: names of files may have them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
