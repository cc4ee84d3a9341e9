"""Attempts, and what they are of, as rows of the store."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status, Usage
from agent_steel.proposal import Diagnosis, Exchange, Fact
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
    from metalbench.store.records import Record
    from metalbench.store.result import DeviceFacts
    from metalbench.store.store import Store


# In the order in which `attempt_of` reads them.
_PLAIN = (
    *("session", "task", "dtype", "size", "parent", "rival", "round", "source_key", "diagnosis"),
    *("wording", "summary", "technique", "proposer", "model", "error", "proposed_at", "judged_at"),
    *("measured_from", "measured_to", "island", "crossed"),
)
_INTERVALS = ("ratio", "steadiness")
_USAGE = ("tokens_in", "tokens_out", "cost", "requests")
_NAMES = (
    *("attempts.id", "sources.text", "tunables", "fate"),
    *(f"{name}{end}" for name in _INTERVALS for end in ("", "_low", "_high")),
    *_USAGE,
    *_PLAIN,
    "objectives",
)
SELECTED = ", ".join(_NAMES)
PREDICTED = "predicted"
# A header line such as `// tune: ...`, or the first line of code.
_HEADER_OR_CODE = re.compile(r"\s*//\s*\w+:|\s*[^/\s]")


@dataclass(frozen=True)
class Place:
    """The key of a history: device, task, element type and size.

    `engine` is the execution mode of the cpu device, empty for a GPU. The kind of the device is
    PREDICTED where its times are predicted.
    """

    device_kind: str
    device_name: str
    device_cores: int
    engine: str
    task: str
    dtype: str
    size: str

    @property
    def is_predicted(self) -> bool:
        """Whether its times are predicted for the device."""
        return self.device_kind == PREDICTED

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
        "objectives": _write_objectives(attempt.objectives),
    }


def _write_objectives(objectives: Mapping[str, Interval]) -> str | None:
    """Return the ratios by objective as JSON; None for a single objective."""
    if not objectives:
        return None
    return json.dumps({name: _write_interval(each) for name, each in objectives.items()})


def _write_interval(interval: Interval) -> list[float | None]:
    ends = (interval.low, interval.high) if interval.is_bounded else (None, None)
    return [interval.value, *ends]


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
        objectives={
            name: _make_interval(*each)
            for name, each in json.loads(found["objectives"] or "{}").items()
        },
        **{name: found[name] for name in _PLAIN},
    )


def _interval(found: dict[str, Any], name: str) -> Interval | None:
    value, low, high = (found[f"{name}{end}"] for end in ("", "_low", "_high"))
    return None if value is None else _make_interval(value, low, high)


def _make_interval(value: float, low: float | None, high: float | None) -> Interval:
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)


# Every attempt, kept in the store: what was tried, what came of it, what it has cost.

_ALL = f"SELECT {SELECTED} FROM attempts JOIN sources ON sources.hash = attempts.source"
_SAME = (
    "device_kind = ? AND device_name = ? AND device_cores = ? AND engine = ? AND task = ? "
    "AND dtype = ? AND size = ?"
)


@dataclass(frozen=True)
class ExchangeContext:
    """The purpose of a request to a model. `attempt` is None without a kernel in the answer.

    `call` counts the questions to a proposer in a session; the history assigns it.
    """

    session: int
    attempt: int | None
    task: str
    round: int
    proposer: str
    model: str
    call: int | None = None


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
        return self._find_session("WHERE outcome IS NULL ORDER BY id DESC LIMIT 1", ())

    def session(self, number: int | None = None) -> Session | None:
        """Return session `number`, or the latest one; None if there is none."""
        return self._find_session("WHERE id = coalesce(?, id) ORDER BY id DESC LIMIT 1", (number,))

    def _find_session(self, clause: str, values: tuple[object, ...]) -> Session | None:
        with self._store.reading() as connection:
            row = connection.execute(
                f"SELECT id, started_at, finished_at, outcome, options FROM sessions {clause}",
                values,
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
        with self._store.transaction() as connection:
            source = _add_text(connection, attempt.source)
            columns = {**place.columns, **columns_of(attempt), "source": source}
            return replace(attempt, number=_insert(connection, "attempts", columns))

    def add_exchanges(self, context: ExchangeContext, exchanges: Sequence[Exchange]) -> None:
        """Keep the requests to a model that led to one answer of a proposer."""
        with self._store.transaction() as connection:
            (last,) = connection.execute(
                "SELECT max(call) FROM exchanges WHERE session = ?", (context.session,)
            ).fetchone()
            for each in exchanges:
                usage = each.usage
                columns = {
                    **asdict(context),
                    "call": 0 if last is None else last + 1,
                    **{
                        name: _add_text(connection, getattr(each, name))
                        for name in ("system", "prompt", "answer")
                    },
                    "error": each.error,
                    "asked_at": each.asked_at,
                    "seconds": each.seconds,
                    "tokens_in": usage.tokens_in,
                    "tokens_out": usage.tokens_out,
                    "cost": usage.cost,
                }
                _insert(connection, "exchanges", columns)

    def exchanges(
        self, task: str | None = None, session: int | None = None
    ) -> list[tuple[ExchangeContext, Exchange]]:
        """Return the requests to models for a task, in a session, or all; oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT session, attempt, task, round, proposer, model, call, systems.text, "
                "prompts.text, answers.text, error, asked_at, seconds, tokens_in, tokens_out, cost "
                "FROM exchanges JOIN sources AS systems ON systems.hash = exchanges.system "
                "JOIN sources AS prompts ON prompts.hash = exchanges.prompt "
                "JOIN sources AS answers ON answers.hash = exchanges.answer "
                "WHERE task = coalesce(?, task) AND session = coalesce(?, session) "
                "ORDER BY exchanges.id",
                (task, session),
            ).fetchall()
        return [(ExchangeContext(*row[:7]), _exchange_of(row[7:])) for row in rows]

    def record_diagnosis(self, session: int, attempt: int, diagnosis: Diagnosis) -> None:
        """Keep the diagnosis of an attempt as the proposers of a session get it."""
        with self._store.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO diagnoses VALUES (?, ?, ?)",
                (session, attempt, json.dumps(asdict(diagnosis))),
            )

    def diagnoses(self, session: int) -> list[tuple[int, Diagnosis]]:
        """Return the diagnoses of a session by number of attempt."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT attempt, json FROM diagnoses WHERE session = ? ORDER BY attempt", (session,)
            ).fetchall()
        return [(number, _read_diagnosis(json.loads(text))) for number, text in rows]

    def usage(self, session: int) -> Usage:
        """Return what all requests of a session have used; of lost ones the most they may have."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT tokens_in, tokens_out, cost FROM spending WHERE session = ?", (session,)
            ).fetchall()
        several = (Usage(tokens_in, tokens_out, cost, 1) for tokens_in, tokens_out, cost in rows)
        return sum(several, Usage())

    def reserve(self, session: int, most: Usage) -> int:
        """Record the most that a request may use, before it is sent; return its number."""
        columns = {name: getattr(most, name) for name in ("tokens_in", "tokens_out", "cost")}
        with self._store.transaction() as connection:
            return _insert(connection, "spending", {"session": session, **columns})

    def settle(self, number: int, used: Usage) -> None:
        """Record what a request has used."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE spending SET tokens_in = ?, tokens_out = ?, cost = ? WHERE id = ?",
                (used.tokens_in, used.tokens_out, used.cost, number),
            )

    def record_judgement(
        self, attempt: Attempt, samples: Sequence[SampleSet] = (), *, repeat: int = 0
    ) -> Attempt:
        """Keep what has become of an attempt, with the samples of its measurements.

        `repeat` counts its earlier judgements, whose samples stay.
        """
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
                    for measurement, each in enumerate(samples, 2 * repeat)
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

    def places_of(self, task: str) -> tuple[Place, ...]:
        """Return the histories of one task, the one with the latest attempt first."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT device_kind, device_name, device_cores, engine, task, dtype, size "
                "FROM attempts WHERE task = ? GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY max(id) DESC",
                (task,),
            ).fetchall()
        return tuple(Place(*row) for row in rows)

    def records_of(self, task: str) -> tuple[Record, ...]:
        """Return the records of one task in the leaderboard."""
        return tuple(each for each in self._store.records() if each.entry.task == task)

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

    def count_judgements(self, number: int) -> int:
        """Return how often an attempt was measured and judged."""
        with self._store.reading() as connection:
            (last,) = connection.execute(
                "SELECT max(measurement) FROM attempt_samples WHERE attempt = ?", (number,)
            ).fetchone()
        return 0 if last is None else int(last) // 2 + 1

    def _find(self, clause: str, values: tuple[object, ...]) -> tuple[Attempt, ...]:
        with self._store.reading() as connection:
            rows = connection.execute(f"{_ALL} {clause}", values).fetchall()
        return tuple(map(attempt_of, rows))


@dataclass(frozen=True)
class SpendingRecord:
    """Records the requests of a session as they are made, from any thread."""

    history: History
    session: int

    def reserve(self, most: Usage) -> int:
        """Record the most that a request may use, before it is sent; return its number."""
        with self.history.beside() as history:
            return history.reserve(self.session, most)

    def settle(self, number: int, used: Usage) -> None:
        """Record what a request has used."""
        with self.history.beside() as history:
            history.settle(number, used)


def _read_diagnosis(fields: Mapping[str, Any]) -> Diagnosis:
    facts = tuple(Fact(**each) for each in fields["facts"])
    return Diagnosis(fields["bound"], fields["text"], facts)


def _exchange_of(row: Sequence[Any]) -> Exchange:
    system, prompt, answer, error, asked_at, seconds, tokens_in, tokens_out, cost = row
    usage = Usage(tokens_in, tokens_out, cost, 1)
    return Exchange(system, prompt, answer, error, asked_at, seconds, usage)


def _add_text(connection: sqlite3.Connection, text: str) -> str:
    """Add a text if it is new, and return its hash. Lone surrogates are replaced."""
    data = text.encode(errors="replace")
    digest = hashlib.sha256(data).hexdigest()
    connection.execute(
        "INSERT OR IGNORE INTO sources (hash, text) VALUES (?, ?)", (digest, data.decode())
    )
    return digest


def _insert(connection: sqlite3.Connection, table: str, columns: Mapping[str, object]) -> int:
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    return _number(
        connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(columns.values())
        )
    )


def _number(cursor: sqlite3.Cursor) -> int:
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


# The winner as a file: a kernel as any other, which needs nothing of what found it.


# The line above the header lines of a version that was chosen by predictions.
PREDICTED_LINE = "// Chosen by predicted times for {name}, not measured."


def text_of(attempt: Attempt, predicted_for: str = "") -> str:
    """Return the text of an attempt, its values of tunables as the defaults.

    With the name of a chip in `predicted_for`, a comment says that nothing was measured.
    """
    text = with_defaults(attempt.source, attempt.tunables, dtype=attempt.dtype)
    if not predicted_for:
        return text
    line = PREDICTED_LINE.format(name=predicted_for)
    lines = [each for each in text.split("\n") if each != line]
    # At the end of the prose, which describes the kernel.
    place = next((i for i, each in enumerate(lines) if _HEADER_OR_CODE.match(each)), 0)
    return "\n".join([*lines[:place], line, *lines[place:]])


def file_name(task: str, chip: str | None) -> str:
    """``NAME.CHIP.metal`` of a device whose chip is known, else ``NAME.metal``."""
    return f"{task}.{chip}.metal" if chip else f"{task}.metal"


def apply_attempt(
    entry: Entry,
    attempt: Attempt,
    device: DeviceFacts,
    folders: Sequence[Path],
    *,
    is_predicted: bool = False,
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
    predicted_for = device.name if is_predicted else ""
    return write_attempt(folder / file_name(entry.name, device.chip), attempt, predicted_for)


def write_attempt(path: Path, attempt: Attempt, predicted_for: str = "") -> Path:
    """Write an attempt to `path`, all of it or nothing; raises MachineError if that cannot be."""
    try:
        replace_file(path, text_of(attempt, predicted_for))
    except OSError as error:
        raise MachineError(
            f"{path} cannot be written: {error.strerror}; name another place with --out"
        ) from error
    return path
