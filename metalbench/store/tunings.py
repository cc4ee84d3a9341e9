"""Tunings: one for each device, kernel text, element type and size."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from metalbench.result.tuning import Tuning
from metalbench.stats import Interval

if TYPE_CHECKING:
    from metalbench.result import DeviceFacts

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
