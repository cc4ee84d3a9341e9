"""The content of a page, from records or from a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalbench.analysis import Peaks
from metalbench.result import DeviceFacts
from metalbench.stats import Interval


@dataclass(frozen=True)
class RecordStep:
    """One record in the history of a place: its gain over the previous one, and its origin."""

    accepted_at: str
    time_ns: Interval | None
    ratio: Interval | None
    gains: tuple[Interval, ...]
    source_hash: str
    origin: str


@dataclass(frozen=True)
class KernelRow:
    """One kernel. Times are in ns; `gflops` and `gbytes_per_s` are in 10^9 per second.

    `failures` are messages; `history` is the latest first, empty for a run.
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
    history: tuple[RecordStep, ...] = ()

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None without arithmetic or time."""
        if self.gflops is None or self.gbytes_per_s is None or not self.gflops.value:
            return None
        return self.gflops.value / self.gbytes_per_s.value


@dataclass(frozen=True)
class Board:
    """The kernels on one device in one execution mode, which are comparable only with each other.

    `peaks` are the device's limits, if known.
    """

    device: DeviceFacts
    engine: str
    rows: tuple[KernelRow, ...]
    lines: tuple[str, ...] = ()
    peaks: Peaks | None = None


@dataclass(frozen=True)
class Page:
    """A page: title, lead text, and a board for each device."""

    title: str
    lead: str
    boards: tuple[Board, ...] = field(default=())

    @property
    def of_records(self) -> bool:
        """Whether its rows have a history."""
        return any(row.history for board in self.boards for row in board.rows)
