"""The content of a page, from records or from a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metalbench.compare.results import TaskHistory, group_histories
from metalbench.devices import find_kind
from metalbench.measure.device_limits import Peaks
from metalbench.measure.measurement import LAUNCH_BOUND
from metalbench.report import numbers
from metalbench.report.history import revision_text
from metalbench.report.summary import summary_lines
from metalbench.report.warnings import brief_mark_lines, list_marks
from metalbench.stats import Interval, Verdict, geometric_mean
from metalbench.store.history import HistoryEntry
from metalbench.store.records import Record, RecordPlace
from metalbench.store.result import Case, DeviceFacts, Result, Status
from metalbench.store.stored_run import StoredResult, StoredRun

if TYPE_CHECKING:
    from metalbench.measure.measurement import Measurement
    from metalbench.store.environment import Environment


# Samples of one kernel on a page: enough to see modes, drift and outliers.
MOST_SAMPLES = 120


@dataclass(frozen=True)
class RecordStep:
    """One record in the history of a place: its gain over the previous one, and its origin.

    `origin` is who submitted it, if known, and by which command or program.
    """

    accepted_at: str
    time_ns: Interval | None
    ratio: Interval | None
    gains: tuple[Interval, ...]
    source_hash: str
    origin: str


# Results of one kernel in the graph of its past.
MOST_PAST = 20


@dataclass(frozen=True)
class PastResult:
    """One earlier or the present result of a kernel: its score, its commit and its run.

    `commit` is the commit of the kernels, "" if it is unknown. `is_same` is whether source and
    tunables are those of the present result.
    """

    score: Interval
    commit: str
    recorded_at: str
    run: int
    is_same: bool


@dataclass(frozen=True)
class Past:
    """Comparable results of a kernel, the latest last: ratios to MLX, or else times in ns."""

    by_reference: bool
    results: tuple[PastResult, ...]


@dataclass(frozen=True)
class KernelRow:
    """One kernel. Times are in ns; `gflops` and `gbytes_per_s` are in 10^9 per second.

    `failures` are messages; `history` is the latest first, empty for a run. `samples_ns` are times
    of the kernel in their order, at most `MOST_SAMPLES`. `past` are results of other runs, too.
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
    past: Past | None = None

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None without arithmetic or time."""
        if self.gflops is None or self.gbytes_per_s is None or not self.gflops.value:
            return None
        return self.gflops.value / self.gbytes_per_s.value


@dataclass(frozen=True)
class Board:
    """The kernels on one device in one execution mode, which are comparable only with each other.

    `peaks` are the device's limits. Where they are unknown, `without_peaks` is the reason.
    """

    device: DeviceFacts
    engine: str
    rows: tuple[KernelRow, ...]
    lines: tuple[str, ...] = ()
    peaks: Peaks | None = None
    without_peaks: str = ""


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


# The limits of a device for kernels of some element types, or None and the reason.
FindPeaks = Callable[[DeviceFacts, Collection[str]], tuple[Peaks | None, str]]


def make_board(
    device: DeviceFacts,
    engine: str,
    rows: tuple[KernelRow, ...],
    lines: tuple[str, ...] = (),
    *,
    find_peaks: FindPeaks | None,
) -> Board:
    """Return a board with the limits that `find_peaks` returns for the device."""
    if find_peaks is None:
        return Board(device, engine, rows, lines)
    peaks, why = find_peaks(device, {row.dtype for row in rows if row.gflops is not None})
    return Board(device, engine, rows, lines, peaks, why)


# A page of records: a board for each device.

RULE = (
    "Of each task, size and element type the kernel that none was shown to be faster than on that "
    "device. A record is correct. Who takes its place was FASTER in pairs with it, in the same "
    "buffers, and FASTER once more on other inputs."
)


def page_of_records(
    records: Sequence[Record],
    history: Callable[[RecordPlace], Sequence[Record]],
    find_peaks: FindPeaks | None = None,
) -> Page:
    """Return a page of `records`, each with the previous ones that `history` returns."""
    boards = tuple(
        make_board(
            same[0].place.device,
            same[0].place.engine,
            _rows(same, history),
            find_peaks=find_peaks,
        )
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
        record.by,
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
    commit: str | None = None,
    pasts: Mapping[ResultKey, Past] | None = None,
    find_peaks: FindPeaks | None = None,
) -> Page:
    """Return a page of a run that took `seconds` and has ended just now.

    `commit` is that of the project, `pasts` are from `read_pasts`.
    """
    facts = _result_facts(environment)
    known = pasts or {}
    rows = tuple(_result_row(result, facts, known.get(_key(result.case))) for result in results)
    engine = environment.engine if find_kind(device.kind).is_simulated else ""
    lines = (*summary_lines(results, seconds), *brief_mark_lines(results))
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    revision = environment.revision
    run = _run_facts(now, command_line, commit, revision, environment.as_dict())
    board = make_board(device, engine, rows, lines, find_peaks=find_peaks)
    return Page("MetalBench run", WHAT, (board,), run)


def _run_facts(
    date: str,
    command_line: str,
    commit: str | None,
    revision: str | None,
    environment: Mapping[str, Any],
) -> tuple[tuple[str, str], ...]:
    """Return date, command, commit, revision and machine of a run, as far as they are known."""
    versions = environment.get("versions", {})
    found = {
        "date": date,
        "command": command_line,
        "commit": revision_text(commit) if commit else "",
        "MetalBench": " ".join(
            (versions.get("metalbench", ""), revision_text(revision) if revision else "")
        ).strip(),
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


def _result_row(result: Result, facts: tuple[tuple[str, str], ...], past: Past | None) -> KernelRow:
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
        past=past,
    )


def _explain_marks(measured: Measurement | None) -> tuple[str, ...]:
    return tuple(f"{mark}: {why}" for mark, why in list_marks(measured)) if measured else ()


def thin_samples(times_ns: NDArray[Any]) -> tuple[float, ...]:
    """Return at most `MOST_SAMPLES` of the times, evenly spaced in their order."""
    places = np.linspace(0, times_ns.size - 1, min(MOST_SAMPLES, times_ns.size)).round().astype(int)
    return tuple(float(each) for each in times_ns[places])


# The past of kernels: results of their tasks under the same conditions.

# A kernel of a run: its task, element type and size.
ResultKey = tuple[str, str, str]
# Earlier results of a task that are read, of all element types, sizes and devices.
MOST_READ = 200


def read_pasts(
    entries: Sequence[HistoryEntry], history: Callable[[str, int], Sequence[HistoryEntry]]
) -> dict[ResultKey, Past]:
    """Return the past of every result of a run that was timed more than once.

    `history` returns a task's last results, the latest first, as `Store.history`. Results after the
    run do not count.
    """
    found: dict[ResultKey, Past] = {}
    for entry in entries:
        earlier = [each for each in history(entry.task, MOST_READ) if each.id <= entry.id]
        same = [each for each in earlier if each.conditions == entry.conditions]
        for past in group_histories(same):
            timed = past.timed[:MOST_PAST]
            if len(timed) > 1:
                results = tuple(_past_result(each, entry, past) for each in reversed(timed))
                found[_key(entry)] = Past(past.by_reference, results)
    return found


def _past_result(each: HistoryEntry, present: HistoryEntry, past: TaskHistory) -> PastResult:
    score = each.ratio if past.by_reference else (each.gpu_ns or each.kernel_ns)
    assert score is not None
    here, now = (each.source_hash, each.tunables), (present.source_hash, present.tunables)
    return PastResult(score, each.commit or "", each.recorded_at, each.run, here == now)


def _key(of: HistoryEntry | Case) -> ResultKey:
    return of.task, of.dtype, of.size


# A page of a stored run.


def page_of_run(
    run: StoredRun,
    samples: Callable[[int], Mapping[str, NDArray[Any]]],
    history: Callable[[str, int], Sequence[HistoryEntry]],
    find_peaks: FindPeaks | None = None,
) -> Page:
    """Return a page of a run of the store.

    `samples` returns those of a result's number, `history` a task's last results.
    """
    entries = [each.entry for each in run.results]
    engine = run.engine if run.device.simulated else ""
    pasts = read_pasts(entries, history)
    rows = tuple(
        replace(_row_of_stored(each, samples(each.entry.id)), past=pasts.get(_key(each.entry)))
        for each in run.results
    )
    facts = _run_facts(
        run.started_at, run.command_line, run.project_revision, run.revision, run.environment
    )
    ended = run.outcome or "not finished"
    lines = tuple(_summarise_run(run))
    board = make_board(run.device, engine, rows, lines, find_peaks=find_peaks)
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
