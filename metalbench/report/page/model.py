"""The content of a page, from records or from a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metalbench.devices import find_kind
from metalbench.measure.analysis import Peaks
from metalbench.measure.measurement import LAUNCH_BOUND
from metalbench.report.summary import summary_lines
from metalbench.report.warnings import format_marks
from metalbench.stats import Interval
from metalbench.store.records import Record, RecordPlace
from metalbench.store.result import DeviceFacts, Result

if TYPE_CHECKING:
    from metalbench.store.environment import Environment


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


# A page of records: a board for each device.

RULE = (
    "Of each task, size and element type the kernel that none was shown to be faster than on that "
    "device. A record is correct. Who takes its place was FASTER in pairs with it, in the same "
    "buffers, and FASTER once more on other inputs."
)


def page_of_records(
    records: Sequence[Record], history: Callable[[RecordPlace], Sequence[Record]]
) -> Page:
    """Return a page of `records`, each with the previous ones that `history` returns."""
    boards = tuple(
        Board(same[0].place.device, same[0].place.engine, _rows(same, history))
        for same in by_device(records)
    )
    return Page("MetalBench records", RULE, boards)


def by_device(records: Sequence[Record]) -> list[list[Record]]:
    """Group records by device and execution mode, real devices before simulated ones."""
    found: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        place = record.place
        device = (place.device_kind, place.device_name, place.device_chip, place.device_cores)
        found.setdefault((*device, place.engine), []).append(record)
    # Real devices before simulated ones.
    return sorted(found.values(), key=lambda same: same[0].place.device.simulated)


def work_ns(record: Record) -> Interval | None:
    """Return the time of a pass of the record's kernel, on the GPU's clock if there is one."""
    entry = record.entry
    return entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns


def rate(time_ns: Interval | None, value: float | None) -> Interval | None:
    """Return a rate with its interval, from its value and the interval of the time."""
    if time_ns is None or value is None:
        return None
    amount = value * time_ns.value
    return time_ns.map(lambda time: amount / time)


def _rows(
    records: Sequence[Record], history: Callable[[RecordPlace], Sequence[Record]]
) -> tuple[KernelRow, ...]:
    return tuple(_row(record, history(record.place)) for record in records)


def _row(record: Record, past: Sequence[Record]) -> KernelRow:
    entry, time_ns = record.entry, work_ns(record)
    floor_ns = record.floor_ns
    return KernelRow(
        task=entry.task,
        set=record.set,
        dtype=entry.dtype,
        size=entry.size,
        status=entry.status,
        kernel=entry.kernel,
        source=record.source,
        source_hash=entry.source_hash,
        extents=entry.sizes,
        tunables=entry.tunables,
        time_ns=entry.kernel_ns,
        reference_ns=entry.reference_ns,
        ratio=entry.ratio,
        verdict=entry.verdict,
        clock=entry.clock,
        launch_bound=bool(time_ns and floor_ns and time_ns.value < LAUNCH_BOUND * floor_ns),
        gflops=rate(time_ns, record.gflops),
        gbytes_per_s=rate(time_ns, record.gbytes_per_s),
        facts=_facts(record),
        history=tuple(_step(each) for each in past),
    )


def _facts(record: Record) -> tuple[tuple[str, str], ...]:
    here = record.environment
    versions = here.get("versions", {})
    found = {
        "measured": record.entry.recorded_at,
        "the record since": record.accepted_at,
        "machine": f"{here.get('cpu', '')}, {here.get('os', '')}",
        "MLX": f"{versions.get('mlx', '')}, {record.entry.form or 'as it is written'}",
        "MetalBench": " ".join(filter(None, (versions.get("metalbench"), record.entry.revision))),
    }
    return tuple((name, value) for name, value in found.items() if value.strip(" ,"))


def _step(record: Record) -> RecordStep:
    return RecordStep(
        record.accepted_at,
        work_ns(record),
        record.entry.ratio,
        record.gains,
        record.entry.source_hash,
        record.origin,
    )


# A page of one run.

WHAT = "One run: every kernel checked, and timed in pairs with MLX on the same device."


def page_of_results(
    results: Sequence[Result], device: DeviceFacts, environment: Environment, seconds: float
) -> Page:
    """Return a page of a run that took `seconds`."""
    facts = _result_facts(environment)
    rows = tuple(_result_row(result, facts) for result in results)
    engine = environment.engine if find_kind(device.kind).is_simulated else ""
    lines = (*summary_lines(results, seconds), *format_marks(results))
    return Page("MetalBench run", WHAT, (Board(device, engine, rows, lines),))


def _result_facts(environment: Environment) -> tuple[tuple[str, str], ...]:
    versions = environment.versions
    return (
        ("machine", f"{environment.cpu}, {environment.os}"),
        ("MLX", versions.get("mlx", "")),
        ("MetalBench", " ".join(filter(None, (versions.get("metalbench"), environment.revision)))),
    )


def _result_row(result: Result, facts: tuple[tuple[str, str], ...]) -> KernelRow:
    case, measured, analysis = result.case, result.measurement, result.analysis
    verdict = measured.verdict if measured is not None else None
    work = analysis.work if analysis is not None else None
    return KernelRow(
        task=case.task,
        set=case.set,
        dtype=case.dtype,
        size=case.size,
        status=result.status.value,
        kernel=case.kernel,
        source=case.source,
        source_hash=case.source_hash,
        extents=case.sizes,
        tunables=case.tunables,
        time_ns=measured.candidate_ns if measured is not None else None,
        reference_ns=measured.reference_ns if measured is not None else None,
        ratio=measured.ratio if measured is not None else None,
        verdict=verdict.value if verdict is not None else None,
        clock=measured.clock if measured is not None else None,
        launch_bound=measured is not None and measured.launch_bound,
        gflops=work.gflops if work is not None else None,
        gbytes_per_s=work.gbytes_per_s if work is not None else None,
        notes=result.notes,
        failures=tuple(f"at {each.stage}: {each.message}" for each in result.failures),
        facts=facts,
    )
