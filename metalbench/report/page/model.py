"""What a page shows, whether it comes from records or from a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalbench.analysis import Peaks
from metalbench.result import DeviceFacts
from metalbench.stats import Interval


@dataclass(frozen=True)
class Step:
    """One record of a place's history: what it gained over the one before, and by what."""

    accepted_at: str
    time_ns: Interval | None
    ratio: Interval | None
    gains: tuple[Interval, ...]
    source_hash: str
    origin: str


@dataclass(frozen=True)
class Row:
    """One kernel. Times are in ns; `gflops` and `gbytes_per_s` are of 10^9 a second.

    `failures` are messages; `history` is the latest first, none of a run.
    """

    task: str
    set: str
    dtype: str
    size: str
    status: str
    kernel: str
    source: str
    source_hash: str
    extents: Mapping[str, int]
    tunables: Mapping[str, int]
    time_ns: Interval | None = None
    reference_ns: Interval | None = None
    ratio: Interval | None = None
    verdict: str | None = None
    clock: str | None = None
    launch_bound: bool = False
    gflops: Interval | None = None
    gbytes_per_s: Interval | None = None
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    history: tuple[Step, ...] = ()

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None where there is no arithmetic or nothing was timed."""
        if self.gflops is None or self.gbytes_per_s is None or not self.gflops.value:
            return None
        return self.gflops.value / self.gbytes_per_s.value


@dataclass(frozen=True)
class Board:
    """What was measured on one device as one engine, which compares with nothing else.

    `peaks` are the device's limits, where they are known.
    """

    device: DeviceFacts
    engine: str
    rows: tuple[Row, ...]
    lines: tuple[str, ...] = ()
    peaks: Peaks | None = None


@dataclass(frozen=True)
class Page:
    """A page: what it is of, in a sentence or two, and a board for each device."""

    title: str
    lead: str
    boards: tuple[Board, ...] = field(default=())

    @property
    def of_records(self) -> bool:
        """Whether its rows have a history."""
        return any(row.history for board in self.boards for row in board.rows)
