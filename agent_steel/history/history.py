"""Attempts, and what they are of, as rows of the store."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status, Usage
from agent_steel.source import with_defaults
from metalbench.errors import DeclarationError, MachineError
from metalbench.kernel.source_files import library_folder
from metalbench.stats import Interval
from metalbench.store.rows import read_samples, sample_rows
from metalbench.untrusted_files import replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metalbench.kernel.library import Entry
    from metalbench.measure.measurement import SampleSet
    from metalbench.store.result import DeviceFacts
    from metalbench.store.store import Store


# In the order in which `attempt_of` reads them.
_PLAIN = (
    *("session", "task", "dtype", "size", "parent", "rival", "round", "source_key", "diagnosis"),
    *("wording", "summary", "technique", "proposer", "model", "error", "proposed_at", "judged_at"),
    *("measured_from", "measured_to"),
)
_INTERVALS = ("ratio", "steadiness")
_USAGE = ("tokens_in", "tokens_out", "cost", "requests")
_NAMES = (
    *("attempts.id", "sources.text", "tunables", "fate"),
    *(f"{name}{end}" for name in _INTERVALS for end in ("", "_low", "_high")),
    *_USAGE,
    *_PLAIN,
)
SELECTED = ", ".join(_NAMES)


@dataclass(frozen=True)
class Place:
    """The key of a history: device, task, element type and size.

    `engine` is the execution mode of the cpu device, empty for a GPU.
    """

    device_kind: str
    device_name: str
    device_cores: int
    engine: str
    task: str
    dtype: str
    size: str

    @property
    def columns(self) -> dict[str, object]:
        """Its columns by name."""
        names = ("device_kind", "device_name", "device_cores", "engine", "task", "dtype", "size")
        return dict(zip(names, self.row, strict=True))

    @property
    def row(self) -> tuple[object, ...]:
        """The values of its columns."""
        device = (self.device_kind, self.device_name, self.device_cores, self.engine)
        return (*device, self.task, self.dtype, self.size)


def columns_of(attempt: Attempt) -> dict[str, object]:
    """Return the columns of an attempt that are not of its place, but for its source."""
    usage = attempt.usage
    return {
        **{name: getattr(attempt, name) for name in _PLAIN},
        **_ends("ratio", attempt.ratio),
        **_ends("steadiness", attempt.steadiness),
        **{name: getattr(usage, name) for name in _USAGE},
        "tunables": json.dumps(dict(attempt.tunables)),
        "fate": attempt.status.value,
    }


def _ends(name: str, interval: Interval | None) -> dict[str, object]:
    known = interval is not None and interval.is_bounded
    return {
        name: interval.value if interval else None,
        f"{name}_low": interval.low if interval and known else None,
        f"{name}_high": interval.high if interval and known else None,
    }


def attempt_of(row: Sequence[Any]) -> Attempt:
    """Return the attempt of a row of SELECTED."""
    found = dict(zip(_NAMES, row, strict=True))
    return Attempt(
        number=found["attempts.id"],
        source=found["sources.text"],
        tunables=json.loads(found["tunables"]),
        status=Status(found["fate"]),
        usage=Usage(**{name: found[name] for name in _USAGE}),
        ratio=_interval(found, "ratio"),
        steadiness=_interval(found, "steadiness"),
        **{name: found[name] for name in _PLAIN},
    )


def _interval(found: dict[str, Any], name: str) -> Interval | None:
    value, low, high = (found[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)


# Every attempt, kept in the store: what was tried, what came of it, what it has cost.

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
        from metalbench.store.store import Store

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


# The winner as a file: a kernel as any other, which needs nothing of what found it.


def text_of(attempt: Attempt) -> str:
    """Return the text of an attempt, its values of tunables as the defaults."""
    return with_defaults(attempt.source, attempt.tunables, dtype=attempt.dtype)


def file_name(task: str, chip: str | None) -> str:
    """``NAME.CHIP.metal`` of a device whose chip is known, else ``NAME.metal``."""
    return f"{task}.{chip}.metal" if chip else f"{task}.metal"


def apply_attempt(
    entry: Entry, attempt: Attempt, device: DeviceFacts, folders: Sequence[Path]
) -> Path:
    """Write an attempt next to the kernel that it was derived from, and return the file.

    For a known chip it is the variant of this chip. Raise DeclarationError for an installed
    library, which must not be edited, MachineError if the file cannot be written.
    """
    folder = entry.kernel_path(device.chip).parent
    library = library_folder()
    in_library = folder.is_relative_to(library)
    if in_library and not (library.parent / "pyproject.toml").is_file():
        raise DeclarationError(
            f"[{entry.name}] {folder} is the installed library, which stays as it is; "
            f"`agent_steel export {entry.name} --out FILE` writes the winner elsewhere, and "
            "--kernels names a folder of your own"
        )
    return write_attempt(folder / file_name(entry.name, device.chip), attempt)


def write_attempt(path: Path, attempt: Attempt) -> Path:
    """Write an attempt to `path`, all of it or nothing; raises MachineError if that cannot be."""
    try:
        replace_file(path, text_of(attempt))
    except OSError as error:
        raise MachineError(
            f"{path} cannot be written: {error.strerror}; name another place with --out"
        ) from error
    return path
