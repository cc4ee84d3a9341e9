"""Count the accesses and operations of a kernel with its counted build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from metalbench import _core
from metalbench.chips import SIMD_WIDTH
from metalbench.kernel.header import Kernel
from metalbench.kernel.memory import COLUMNS, SPACES, CountsBuffer, Head
from metalbench.kernel.prepare import Bound, Compiled, Geometry, compile_kernel
from metalbench.task import Task
from metalbench.task.workload import workload

TRANSACTION_BYTES = 128


@dataclass
class Counts:
    """Exact sums. Accesses and arithmetic are of threads; counts of SIMD-groups are marked.

    A transaction is a 128-byte line that one access of a SIMD-group touches. `least_` is the
    minimum for the same bytes. A bank turn is one cycle in which each of the 32 banks of
    threadgroup memory can deliver 4 bytes.
    """

    device_reads: int = 0
    device_writes: int = 0
    device_bytes_read: int = 0
    device_bytes_written: int = 0
    device_transactions: int = 0
    least_device_transactions: int = 0
    constant_reads: int = 0
    constant_bytes_read: int = 0
    threadgroup_reads: int = 0
    threadgroup_writes: int = 0
    threadgroup_bytes_read: int = 0
    threadgroup_bytes_written: int = 0
    bank_turns: int = 0
    least_bank_turns: int = 0
    atomics: int = 0
    contended: int = 0
    # Counts of SIMD-groups.
    barriers: int = 0
    simdgroup_barriers: int = 0
    simdgroup_operations: int = 0
    matrix_multiplies: int = 0
    fences: int = 0
    # Counts of threads.
    float_add: int = 0
    float_multiply: int = 0
    float_fma: int = 0
    float_divide: int = 0
    float_special: int = 0
    float_compare: int = 0
    integer: int = 0
    integer_divide: int = 0

    def add(self, other: Counts) -> None:
        """Add the sums of another object to these."""
        for each in fields(Counts):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that threads read and write."""
        return self.device_bytes_read + self.device_bytes_written

    @property
    def coalescing(self) -> float:
        """Least transactions / transactions of device memory, at most 1; NaN without accesses."""
        return _ratio(self.least_device_transactions, self.device_transactions)

    @property
    def bank_conflicts(self) -> int:
        """Bank turns of threadgroup memory beyond the least."""
        return self.bank_turns - self.least_bank_turns

    @property
    def flops(self) -> int:
        """Floating-point operations: a fused one counts twice, a matrix multiply 1024 times."""
        single = self.float_add + self.float_multiply + self.float_divide + self.float_special
        return single + 2 * self.float_fma + 2 * 8**3 * self.matrix_multiplies


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


# Counts of one dispatch, from the words in its counts buffer.

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


# Run a kernel once in a counted build.

TIME_LIMIT = 120.0


def count_kernel(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    size: str,
    dtype_name: str = "float32",
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> list[DispatchCounts]:
    """Return the counts of each dispatch of a kernel at a size, in order.

    Devices without counted builds use the `cpu` device. Raises CompileError and the device's
    errors.
    """
    compiled = compile_kernel(
        device, kernel, task, dtype_name=dtype_name, tunables=tunables, counted=True
    )
    bound = compiled.bind(workload(task, size, dtype_name=dtype_name, seed=seed))
    compiled.device.run(bound.dispatches, time_limit=time_limit)
    return read_counts(compiled, bound)


def read_counts(compiled: Compiled, bound: Bound) -> list[DispatchCounts]:
    """Return the counts of the last run of a bound kernel."""
    return [
        read_dispatch_counts(geometry, buffer, _constants(compiled.pipelines[geometry.function]))
        for geometry, buffer in zip(bound.geometry, bound.counts, strict=True)
    ]


def _constants(pipeline: _core.Pipeline) -> set[int]:
    """Return the indices of constant buffers among a pipeline's buffers, in order of arguments."""
    buffers = [each for each in pipeline.arguments if each.kind == "buffer"]
    return {i for i, each in enumerate(buffers) if each.address_space == "constant"}
