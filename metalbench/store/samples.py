"""Convert raw samples to rows: series, passes, dtype and bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metalbench.measure import SampleSet

Row = tuple[str, int, str, "NDArray[np.generic]"]


def sample_rows(samples: SampleSet) -> list[tuple[str, int, str, sqlite3.Binary]]:
    """Return a row for every series of a measurement: name, passes of a sample, dtype and bytes."""
    from metalbench.measure.slope import LONGER

    passes = samples.candidate_window
    rows: list[Row] = [
        ("kernel", passes, "<f8", samples.candidate_ns),
        ("reference", samples.reference_window, "<f8", samples.reference_ns),
        ("floor", passes, "<f8", samples.floor_ns),
        ("kernel_first", passes, "|u1", samples.candidate_first),
        ("look", passes, "<u2", samples.batch),
    ]
    if samples.probe_ns.size:
        rows.append(("probe", 1, "<f8", samples.probe_ns))
    if samples.long_ns.size:
        rows.append(("long", LONGER * samples.long_base, "<f8", samples.long_ns))
    if samples.reference_long_ns.size:
        long_passes = LONGER * samples.reference_long_base
        rows.append(("reference_long", long_passes, "<f8", samples.reference_long_ns))
    for side, after in (
        ("kernel", samples.probe_after_candidate_ns),
        ("reference", samples.probe_after_reference_ns),
    ):
        if after.size:
            rows.append((f"probe_after_{side}", 1, "<f8", after))
    rows += _by_both_clocks(samples)
    return [
        (series, window, dtype, sqlite3.Binary(values.astype(dtype).tobytes()))
        for series, window, dtype, values in rows
    ]


def read_samples(rows: Iterable[tuple[str, str, bytes]]) -> dict[str, NDArray[Any]]:
    """Return arrays by series, from rows of series, dtype and bytes."""
    import numpy as np

    return {series: np.frombuffer(data, dtype=dtype) for series, dtype, data in rows}


def _by_both_clocks(samples: SampleSet) -> list[Row]:
    own, passes = samples.own, samples.candidate_window
    if own is None:
        return []
    sides: list[Row] = [
        ("gpu", passes, "<f8", own.device_ns),
        ("counter", passes, "<f8", own.counter_ns),
        ("wall", passes, "<f8", own.wall_ns),
        ("encode", 1, "<f8", own.encode_ns),
        ("floor_gpu", passes, "<f8", own.floor_ns),
        ("reference_gpu", samples.reference_window, "<f8", own.reference_device_ns),
        ("reference_wall", samples.reference_window, "<f8", own.reference_wall_ns),
    ]
    return [row for row in sides if row[3].size]
