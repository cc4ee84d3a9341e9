"""The content of a page, from records or from a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metalbench.devices import find_kind
from metalbench.measure.analysis import Peaks
from metalbench.measure.measurement import LAUNCH_BOUND
from metalbench.report import numbers
from metalbench.report.summary import summary_lines
from metalbench.report.warnings import brief_mark_lines, list_marks
from metalbench.stats import Interval, Verdict, geometric_mean
from metalbench.store.records import Record, RecordPlace
from metalbench.store.result import DeviceFacts, Result, Status
from metalbench.store.stored_run import StoredResult, StoredRun

if TYPE_CHECKING:
    from metalbench.measure.measurement import Measurement
    from metalbench.store.environment import Environment


# Samples of one kernel on a page: enough to see modes, drift and outliers.
MOST_SAMPLES = 120


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

    `failures` are messages; `history` is the latest first, empty for a run. `samples_ns` are times
    of the kernel in their order, at most `MOST_SAMPLES`.
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
    samples_ns: tuple[float, ...] = ()

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
    """A page: title, lead text, facts such as the date, and a board for each device."""

    title: str
    lead: str
    boards: tuple[Board, ...] = field(default=())
    facts: tuple[tuple[str, str], ...] = ()

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


def work_ns(record: Record | StoredResult) -> Interval | None:
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
    return _make_row(record, facts=_facts(record), history=tuple(_step(each) for each in past))


def _make_row(measured: Record | StoredResult, **more: Any) -> KernelRow:
    """Return the row of a measurement; `more` is what only records or only results have."""
    entry, time_ns, floor_ns = measured.entry, work_ns(measured), measured.floor_ns
    return KernelRow(
        task=entry.task,
        set=measured.set,
        dtype=entry.dtype,
        size=entry.size,
        status=entry.status,
        kernel=entry.kernel,
        source=measured.source,
        source_hash=entry.source_hash,
        extents=entry.sizes,
        tunables=entry.tunables,
        time_ns=entry.kernel_ns,
        reference_ns=entry.reference_ns,
        ratio=entry.ratio,
        verdict=entry.verdict,
        clock=entry.clock,
        launch_bound=bool(time_ns and floor_ns and time_ns.value < LAUNCH_BOUND * floor_ns),
        gflops=rate(time_ns, measured.gflops),
        gbytes_per_s=rate(time_ns, measured.gbytes_per_s),
        **more,
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
    results: Sequence[Result],
    device: DeviceFacts,
    environment: Environment,
    seconds: float,
    *,
    command_line: str = "",
) -> Page:
    """Return a page of a run that took `seconds` and has ended just now."""
    facts = _result_facts(environment)
    rows = tuple(_result_row(result, facts) for result in results)
    engine = environment.engine if find_kind(device.kind).is_simulated else ""
    lines = (*summary_lines(results, seconds), *brief_mark_lines(results))
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    run = _run_facts(now, command_line, environment.revision, environment.as_dict())
    return Page("MetalBench run", WHAT, (Board(device, engine, rows, lines),), run)


def _run_facts(
    date: str, command_line: str, revision: str | None, environment: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """Return date, command, revision and machine of a run, as far as they are known."""
    versions = environment.get("versions", {})
    found = {
        "date": date,
        "command": command_line,
        "MetalBench": " ".join(filter(None, (versions.get("metalbench"), revision))),
        "MLX": versions.get("mlx", ""),
        "machine": ", ".join(filter(None, map(environment.get, ("cpu", "os")))),
        "Python": environment.get("python", ""),
    }
    return tuple((name, value) for name, value in found.items() if value)


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
        notes=(*_explain_marks(measured), *result.notes),
        failures=tuple(f"at {each.stage}: {each.message}" for each in result.failures),
        facts=facts,
        samples_ns=thin_samples(measured.samples.candidate_ns) if measured is not None else (),
    )


def _explain_marks(measured: Measurement | None) -> tuple[str, ...]:
    return tuple(f"{mark}: {why}" for mark, why in list_marks(measured)) if measured else ()


def thin_samples(times_ns: NDArray[Any]) -> tuple[float, ...]:
    """Return at most `MOST_SAMPLES` of the times, evenly spaced in their order."""
    places = np.linspace(0, times_ns.size - 1, min(MOST_SAMPLES, times_ns.size)).round().astype(int)
    return tuple(float(each) for each in times_ns[places])


# A page of a stored run.


def page_of_run(run: StoredRun, samples: Callable[[int], Mapping[str, NDArray[Any]]]) -> Page:
    """Return a page of a run of the store; `samples` returns those of a result's number."""
    entries = [each.entry for each in run.results]
    engine = entries[0].engine if run.device.simulated else ""
    rows = tuple(_row_of_stored(each, samples(each.entry.id)) for each in run.results)
    facts = _run_facts(run.started_at, run.command_line, entries[0].revision, run.environment)
    ended = run.outcome or "not finished"
    board = Board(run.device, engine, rows, tuple(_summarise_run(run)))
    return Page(f"MetalBench run {run.number}", WHAT, (board,), (*facts, ("state", ended)))


def _summarise_run(run: StoredRun) -> Iterator[str]:
    """Yield the number of correct kernels, the verdicts and the mean of a stored run."""
    entries = [each.entry for each in run.results]
    right = sum(each.status == Status.CORRECT.value for each in entries)
    yield f"{right} of {len(entries)} correct."
    verdicts = [each.verdict for each in entries]
    counts = [f"{verdicts.count(each.value)} {each.value}" for each in Verdict]
    counts = [each for each in counts if not each.startswith("0 ")]
    if counts:
        bounded = [
            each.ratio for each in entries if each.ratio and None not in each.ratio.useful_ends
        ]
        line = f"Against MLX: {', '.join(counts)}."
        if len(bounded) > 1:
            mean = numbers.ratio(geometric_mean(bounded))
            line += f" Geometric mean of the ratios of {len(bounded)} kernels: {mean}."
        yield line


def _row_of_stored(result: StoredResult, samples: Mapping[str, NDArray[Any]]) -> KernelRow:
    verdict = result.entry.verdict
    return _make_row(
        result,
        notes=(*(f"{verdict}: {each}" for each in result.reasons), *result.notes),
        failures=tuple(f"at {each.stage}: {each.message}" for each in result.failures),
        facts=(("measured", result.entry.recorded_at),),
        samples_ns=thin_samples(samples["kernel"]) if "kernel" in samples else (),
    )
