"""A page of records: a board for each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.measure.measurement import LAUNCH_BOUND
from metalbench.report.page.model import Board, KernelRow, Page, RecordStep
from metalbench.stats import Interval
from metalbench.store import Record, RecordPlace

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
