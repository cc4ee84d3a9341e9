"""Counts of one dispatch, from the words in its counts buffer."""

from __future__ import annotations

from dataclasses import dataclass, field

from metalbench.counting.counts import SIMD_WIDTH, Counts
from metalbench.kernel.counts import COLUMNS, SPACES, CountsBuffer, Head
from metalbench.kernel.geometry import Geometry

# Operations of code segments, and their sums: for threads, for SIMD-groups.
_OF_THREADS = {
    "add": "float_add",
    "multiply": "float_multiply",
    "fma": "float_fma",
    "divide": "float_divide",
    "special": "float_special",
    "compare": "float_compare",
    "integer": "integer",
    "integer_divide": "integer_divide",
}
_OF_SIMDGROUPS = {
    "barrier": "barriers",
    "simdgroup_barrier": "simdgroup_barriers",
    "simdgroup": "simdgroup_operations",
    "matrix_multiply": "matrix_multiplies",
    "fence": "fences",
}
_READ, _WRITE, _ATOMIC = range(3)
Line = tuple[str, int]


@dataclass
class DispatchCounts:
    """Counts of one dispatch: sums, also by line, and values that do not add up.

    `most_*` are the accesses of the thread with the most of them. `lanes` are executions of code
    segments by threads, `lane_slots` is 32 for each execution by a SIMD-group. Unique bytes are
    bytes of buffers that were read, or written, at least once.
    """

    function: str
    geometry: Geometry
    total: Counts = field(default_factory=Counts)
    lines: dict[Line, Counts] = field(default_factory=dict)
    threads: int = 0
    simdgroups: int = 0
    lanes: int = 0
    lane_slots: int = 0
    unique_bytes_read: int = 0
    unique_bytes_written: int = 0
    most_device_reads: int = 0
    most_device_writes: int = 0
    most_threadgroup_reads: int = 0
    most_threadgroup_writes: int = 0

    @property
    def active_lanes(self) -> float:
        """The active share of SIMD-group lanes, 0..1; NaN if nothing ran."""
        return self.lanes / self.lane_slots if self.lane_slots else float("nan")

    @property
    def reuse(self) -> float:
        """Reads per distinct byte of device memory; NaN without reads."""
        read = self.total.device_bytes_read
        return read / self.unique_bytes_read if self.unique_bytes_read else float("nan")


def read_dispatch_counts(
    geometry: Geometry, buffer: CountsBuffer, constants: set[int]
) -> DispatchCounts:
    """Return the counts of a dispatch; `constants` are the indices of its constant buffers."""
    found = DispatchCounts(geometry.function, geometry)
    found.threads, found.simdgroups = buffer.head(Head.THREADS), buffer.head(Head.SIMDGROUPS)
    for what in ("device_reads", "device_writes", "threadgroup_reads", "threadgroup_writes"):
        setattr(found, f"most_{what}", buffer.head(Head[f"MOST_{what.upper()}"]))
    for number, (read, written) in enumerate(buffer.unique_bytes.tolist()):
        if number not in constants:
            found.unique_bytes_read += read
            found.unique_bytes_written += written
    _add_sites(found, buffer)
    _add_segments(found, buffer)
    for counts in found.lines.values():
        found.total.add(counts)
    return found


def _add_sites(found: DispatchCounts, buffer: CountsBuffer) -> None:
    for site, row in zip(buffer.table.sites, buffer.sites.tolist(), strict=True):
        for space, cells in zip(SPACES, row, strict=True):
            cell = dict(zip(COLUMNS, cells, strict=True))
            if not cell["by_threads"]:
                continue
            line = found.lines.setdefault((site["file"], site["line"]), Counts())
            line.add(_count_site(space, site["kind"], cell))


def _count_site(space: str, kind: int, cell: dict[str, int]) -> Counts:
    sums: dict[str, int] = {}
    if kind != _WRITE:
        sums |= {f"{space}_reads": cell["by_threads"], f"{space}_bytes_read": cell["bytes"]}
    if kind != _READ and space != "constant":
        sums |= {f"{space}_writes": cell["by_threads"], f"{space}_bytes_written": cell["bytes"]}
    if kind == _ATOMIC:
        sums |= {"atomics": cell["by_threads"], "contended": cell["contended"]}
    if space == "device":
        sums["device_transactions"] = cell["transactions"]
        sums["least_device_transactions"] = cell["least_transactions"]
    if space == "threadgroup":
        sums |= {"bank_turns": cell["bank_turns"], "least_bank_turns": cell["least_bank_turns"]}
    return Counts(**sums)


def _add_segments(found: DispatchCounts, buffer: CountsBuffer) -> None:
    for segment, runs in zip(buffer.table.segments, buffer.segments.tolist(), strict=True):
        by_threads, by_simdgroups = runs
        found.lanes += by_threads
        found.lane_slots += SIMD_WIDTH * by_simdgroups
        for place, work in segment["work"].items():
            file, _, line = place.rpartition(":")
            sums = {
                _OF_THREADS[what]: count * by_threads
                for what, count in work.items()
                if what in _OF_THREADS
            } | {
                _OF_SIMDGROUPS[what]: count * by_simdgroups
                for what, count in work.items()
                if what in _OF_SIMDGROUPS
            }
            if by_threads and sums:
                found.lines.setdefault((file, int(line)), Counts()).add(Counts(**sums))
