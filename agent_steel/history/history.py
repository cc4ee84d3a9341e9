"""Every attempt, kept in the store: what was tried, what came of it, what it has cost."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status
from agent_steel.history.rows import SELECTED, Place, attempt_of, columns_of
from metalbench.store.samples import read_samples, sample_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metalbench.measure import SampleSet
    from metalbench.store import Store

_ALL = f"SELECT {SELECTED} FROM attempts JOIN sources ON sources.hash = attempts.source"
_SAME = (
    "device_kind = ? AND device_name = ? AND device_cores = ? AND engine = ? AND task = ? "
    "AND dtype = ? AND size = ?"
)


@dataclass(frozen=True)
class Session:
    """One run of the loop; `outcome` is None if it was broken off."""

    number: int
    started_at: str
    finished_at: str | None
    outcome: str | None
    options: Mapping[str, Any]


class History:
    """The attempts in a store. Every method raises StoreError if that cannot be read or written."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def path(self) -> Path:
        """The file that it is kept in."""
        return self._store.path

    @property
    def folder(self) -> Path:
        """The folder of that file."""
        return self._store.path.absolute().parent

    @contextmanager
    def beside(self) -> Iterator[History]:
        """Open the same history for another thread, over a separate connection."""
        from metalbench.store import Store

        with Store(self._store.path) as store:
            yield History(store)

    def begin(self, options: Mapping[str, Any]) -> int:
        """Record that a session starts, and return its number."""
        with self._store.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO sessions (started_at, options) VALUES (?, ?)",
                (_now(), json.dumps(options, sort_keys=True)),
            )
            return _number(cursor)

    def finish(self, session: int, outcome: str) -> None:
        """Record why a session has ended."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE sessions SET finished_at = ?, outcome = ? WHERE id = ?",
                (_now(), outcome, session),
            )

    def broken_off(self) -> Session | None:
        """Return the latest session that has not ended by itself, None if there is none."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT id, started_at, finished_at, outcome, options FROM sessions "
                "WHERE outcome IS NULL ORDER BY id DESC LIMIT 1"
            ).fetchone()
        if row is None:
            return None
        number, started_at, finished_at, outcome, options = row
        return Session(number, started_at, finished_at, outcome, json.loads(options))

    def add(self, place: Place, attempt: Attempt) -> Attempt:
        """Keep a new attempt, and return it with its number and the instant."""
        attempt = replace(attempt, proposed_at=_now())
        if attempt.status is not Status.PENDING:
            attempt = replace(attempt, judged_at=attempt.proposed_at)
        source = hashlib.sha256(attempt.source.encode()).hexdigest()
        columns = {**place.columns, **columns_of(attempt), "source": source}
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        with self._store.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sources (hash, text) VALUES (?, ?)",
                (source, attempt.source),
            )
            cursor = connection.execute(
                f"INSERT INTO attempts ({names}) VALUES ({marks})", tuple(columns.values())
            )
            return replace(attempt, number=_number(cursor))

    def record_judgement(self, attempt: Attempt, samples: Sequence[SampleSet] = ()) -> Attempt:
        """Keep what has become of an attempt, with the samples of its measurements."""
        attempt = replace(attempt, judged_at=_now())
        columns = columns_of(attempt)
        setting = ", ".join(f"{name} = ?" for name in columns)
        with self._store.transaction() as connection:
            connection.execute(
                f"UPDATE attempts SET {setting} WHERE id = ?",
                (*columns.values(), attempt.number),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO attempt_samples VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (attempt.number, measurement, *row)
                    for measurement, each in enumerate(samples)
                    for row in sample_rows(each)
                ],
            )
        return attempt

    def attempts(self, place: Place) -> tuple[Attempt, ...]:
        """Return all of one history, oldest first."""
        return self._find(f"WHERE {_SAME} ORDER BY attempts.id", place.row)

    def of_session(self, session: int) -> tuple[Attempt, ...]:
        """Return all of one session, oldest first."""
        return self._find("WHERE session = ? ORDER BY attempts.id", (session,))

    def of_task(self, task: str) -> tuple[Attempt, ...]:
        """Return all of one task, oldest first, on whatever device."""
        return self._find("WHERE task = ? ORDER BY attempts.id", (task,))

    def attempt(self, number: int) -> Attempt | None:
        """Attempt `number`, None if there is none."""
        return next(iter(self._find("WHERE attempts.id = ?", (number,))), None)

    def place(self, number: int) -> Place | None:
        """Return the history that attempt `number` is of."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT device_kind, device_name, device_cores, engine, task, dtype, size "
                "FROM attempts WHERE id = ?",
                (number,),
            ).fetchone()
        return None if row is None else Place(*row)

    def samples(self, number: int, measurement: int = 0) -> dict[str, NDArray[Any]]:
        """Raw samples of an attempt by series, as `Store.samples`; `reference` is its rival."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT series, dtype, data FROM attempt_samples "
                "WHERE attempt = ? AND measurement = ?",
                (number, measurement),
            ).fetchall()
        return read_samples(rows)

    def _find(self, clause: str, values: tuple[object, ...]) -> tuple[Attempt, ...]:
        with self._store.reading() as connection:
            rows = connection.execute(f"{_ALL} {clause}", values).fetchall()
        return tuple(map(attempt_of, rows))


def _number(cursor: sqlite3.Cursor) -> int:
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
