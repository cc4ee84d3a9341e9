"""Records: for each place the result that no other result was shown to be faster than."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metalbench.errors import StoreError
from metalbench.stats import Interval
from metalbench.store.history import HistoryEntry, read_result
from metalbench.store.result import DeviceFacts, Tuning

AUTHOR_VARIABLE = "METALBENCH_AUTHOR"
LONGEST_AUTHOR = 100
_PLACE = (
    "device_kind, device_name, device_chip, device_cores, engine, task, dtype, size, records.sizes"
)
_AT = (
    "device_kind = ? AND device_name = ? AND device_chip IS ? AND device_cores = ? AND engine = ? "
    "AND task = ? AND dtype = ? AND size = ? AND sizes = ?"
)
_RECORDS = """
SELECT records.id, records.result, task_set, text, header, gflops, gbytes_per_s, floor_ns,
       gpu_floor_ns, environments.json, over, gains, origin, accepted_at, coalesce(author, '')
FROM records JOIN results ON results.id = records.result JOIN sources ON hash = results.source
     JOIN runs ON runs.id = run JOIN environments ON environments.id = runs.environment
"""
# The place of a result.
_PLACE_OF = """
SELECT device_kind, device_name, device_chip, device_cores,
       CASE device_kind WHEN 'cpu' THEN coalesce(json_extract(json, '$.engine'), 'fibers')
                        ELSE '' END,
       task, dtype, size, sizes
FROM results JOIN runs ON runs.id = run JOIN environments ON environments.id = runs.environment
WHERE results.id = ?
"""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a record: a task at one size and element type, on one kind of device.

    `sizes` are the extents by name: a size with changed extents is another place. `engine` is the
    execution mode of the cpu device, empty for a GPU.
    """

    device_kind: str
    device_name: str
    device_chip: str | None
    device_cores: int
    engine: str
    task: str
    dtype: str
    size: str
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        engine = f", {self.engine}" if self.engine else ""
        return f"{self.task} ({self.dtype}, {self.size}) on {self.device_name}{engine}"

    @property
    def device(self) -> DeviceFacts:
        """The device, as far as it matters to records."""
        return DeviceFacts(self.device_kind, self.device_name, self.device_chip, self.device_cores)

    @property
    def _row(self) -> tuple[object, ...]:
        return (
            *(self.device_kind, self.device_name, self.device_chip, self.device_cores),
            *(self.engine, self.task, self.dtype, self.size, json.dumps(dict(self.sizes))),
        )


@dataclass(frozen=True, slots=True)
class RecordClaim:
    """The claim that result number `result` is the record, in place of record `over`, if any.

    `gains` are the times of the previous record over its own, of each pairing. `header` is the
    comment block above the kernel's first line of code, `origin` the command or program that
    submitted it, and `author` a name, "" if none was given.
    """

    result: int
    header: str
    origin: str
    over: int | None = None
    gains: tuple[Interval, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A result that is or was the record of its place.

    `entry` has its times and verdict. `source` is the kernel with `#include`s expanded, `header`
    the comment block above its first line of code. `environment` is as
    `metalbench.store.environment` describes it. Throughput is in 10^9 per second. `floor_ns` is a
    pass of empty kernels on the clock of the work's time.
    """

    number: int
    place: RecordPlace
    entry: HistoryEntry
    set: str
    source: str
    header: str
    gflops: float | None
    gbytes_per_s: float | None
    floor_ns: float | None
    environment: Mapping[str, Any]
    over: int | None
    gains: tuple[Interval, ...]
    origin: str
    accepted_at: str
    author: str = ""

    @property
    def by(self) -> str:
        """The author, if known, and the command or program that submitted the kernel."""
        return f"{self.author} ({self.origin})" if self.author else self.origin


def find_author() -> str:
    """Return the name that records get, from $METALBENCH_AUTHOR; "" without one."""
    return os.environ.get(AUTHOR_VARIABLE, "").strip()[:LONGEST_AUTHOR]


def read_place(connection: sqlite3.Connection, result: int) -> RecordPlace:
    """Return the place of result number `result`; raises StoreError if it does not exist."""
    row = connection.execute(_PLACE_OF, (result,)).fetchone()
    if row is None:
        raise StoreError(f"[store] result {result} does not exist")
    return _place(row)


def keep_record(
    connection: sqlite3.Connection, place: RecordPlace, claim: RecordClaim, now: str
) -> bool:
    """Make a result the record of `place`; False if another one has become it in the meantime."""
    known = connection.execute(f"SELECT max(id) FROM records WHERE {_AT}", place._row).fetchone()
    if known[0] != claim.over:
        return False
    gains = [[each.value, each.low, each.high] for each in claim.gains]
    row = (
        *place._row,
        *(claim.result, claim.header, claim.over, json.dumps(gains), claim.origin, now),
        claim.author or None,
    )
    names = _PLACE.replace("records.", "")
    connection.execute(
        f"INSERT INTO records ({names}, result, header, over, gains, origin, accepted_at, author) "
        f"VALUES ({', '.join('?' * len(row))})",
        row,
    )
    return True


def read_record(connection: sqlite3.Connection, place: RecordPlace) -> Record | None:
    """Return the record of `place`; None if there is none yet."""
    found = read_records_at(connection, place, limit=1)
    return found[0] if found else None


def read_records(connection: sqlite3.Connection) -> list[Record]:
    """Return every place's record, by task."""
    latest = f"SELECT max(id) AS id, {_PLACE} FROM records GROUP BY {_PLACE} ORDER BY task, id"
    rows = connection.execute(latest).fetchall()
    return [_record(connection, number, _place(place)) for number, *place in rows]


def read_records_at(
    connection: sqlite3.Connection, place: RecordPlace, limit: int = -1
) -> list[Record]:
    """Return the present and all previous records of `place`, the latest first."""
    numbers = connection.execute(
        f"SELECT id FROM records WHERE {_AT} ORDER BY id DESC LIMIT ?", (*place._row, limit)
    ).fetchall()
    return [_record(connection, number, place) for (number,) in numbers]


def _record(connection: sqlite3.Connection, number: int, place: RecordPlace) -> Record:
    row = connection.execute(f"{_RECORDS} WHERE records.id = ?", (number,)).fetchone()
    _, result, task_set, source, header, gflops, gbytes, floor, gpu_floor, *rest = row
    environment, over, gains, origin, accepted_at, author = rest
    return Record(
        number=number,
        place=place,
        entry=read_result(connection, result),
        set=task_set,
        source=source,
        header=header,
        gflops=gflops,
        gbytes_per_s=gbytes,
        floor_ns=floor if gpu_floor is None else gpu_floor,
        environment=json.loads(environment),
        over=over,
        gains=tuple(Interval(*each) for each in json.loads(gains)),
        origin=origin,
        accepted_at=accepted_at,
        author=author,
    )


def _place(row: Sequence[Any]) -> RecordPlace:
    kind, name, chip, cores, engine, task, dtype, size, sizes = row
    extents = tuple(sorted(json.loads(sizes).items()))
    return RecordPlace(kind, name, chip, cores, engine, task, dtype, size, extents)


# Tunings: one for each device, kernel text, element type and size.

_COLUMNS = (
    "task, dtype, size, source, engine, tunables, ratio, ratio_low, ratio_high, candidates, "
    "found_at"
)
# The same size first, then the latest.
_FIND = f"""
SELECT {_COLUMNS} FROM tunings
WHERE device_kind = ? AND device_name = ? AND device_cores = ? AND dtype = ? AND source = ?
    AND engine = ?
ORDER BY size = ? DESC, found_at DESC LIMIT 1
"""


def keep_tuning(connection: sqlite3.Connection, device: DeviceFacts, tuning: Tuning) -> None:
    """Store a tuning in place of an earlier one of the same device, kernel, type and size."""
    ratio = tuning.ratio
    row = (
        device.kind,
        device.name,
        device.cores,
        tuning.task,
        tuning.dtype,
        tuning.size,
        tuning.source_hash,
        tuning.engine,
        json.dumps(dict(tuning.values)),
        *((None, None, None) if ratio is None else (ratio.value, ratio.low, ratio.high)),
        tuning.candidates,
        tuning.found_at,
    )
    connection.execute(
        f"INSERT OR REPLACE INTO tunings (device_kind, device_name, device_cores, {_COLUMNS}) "
        f"VALUES ({', '.join('?' * len(row))})",
        row,
    )


def find_tuning(
    connection: sqlite3.Connection,
    device: DeviceFacts,
    source_hash: str,
    *,
    engine: str,
    dtype: str,
    size: str,
) -> Tuning | None:
    """Return the tuning of a kernel's text on `device`: that of `size`, else the latest one."""
    key = (device.kind, device.name, device.cores, dtype, source_hash, engine, size)
    row = connection.execute(_FIND, key).fetchone()
    if row is None:
        return None
    task, dtype, size, source, engine, values, ratio, low, high, candidates, found_at = row
    return Tuning(
        task,
        dtype,
        size,
        source,
        engine,
        json.loads(values),
        None if ratio is None else Interval(ratio, low, high),
        candidates,
        found_at,
    )
