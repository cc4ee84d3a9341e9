"""Results of one run, from the store or from a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import msgspec

from metalbench.errors import StoreError
from metalbench.json_files import Count, Text, read_json
from metalbench.stats import Interval, Judgement, Verdict
from metalbench.stats.unpaired import RunSpread, assess_unpaired, estimate_run_spread
from metalbench.store.history import HistoryEntry

if TYPE_CHECKING:
    from metalbench.store.store import Store


Key = tuple[str, str, str]
# Earlier results of a task for the between-run deviation.
MOST_OTHERS = 200
FORM = "results from `metalbench run --json FILE`"
# In ns, from a femtosecond to 30 years. Ratios of ratios within the range stay finite.
TimeNs = Annotated[float, msgspec.Meta(ge=1e-6, le=1e18)]
Ratio = Annotated[float, msgspec.Meta(ge=1e-12, le=1e12)]
Number = TypeVar("Number")


# The parts of a file of results that are compared.


class SavedInterval(msgspec.Struct, Generic[Number]):
    """An interval; `value` is null for what was not measured."""

    value: Number | None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and not (
            (self.low is None or self.low <= self.value)
            and (self.high is None or self.high >= self.value)
        ):
            raise ValueError(
                f"Expected low <= value <= high, got {self.low}, {self.value}, {self.high}"
            )


class SavedForm(msgspec.Struct):
    """A form of the reference; the compared one is in the ratio."""

    name: Text
    compared: bool


class SavedRow(msgspec.Struct):
    """One kernel's result."""

    task: Text
    dtype: Text
    size: Text
    sizes: dict[str, Count]
    status: Text
    source_hash: Text
    kernel_ns: SavedInterval[TimeNs] | None
    gpu_ns: SavedInterval[TimeNs] | None
    ratio: SavedInterval[Ratio] | None
    mode: Text | None = None
    clock: Text | None = None
    verdict: Text | None = None
    forms: list[SavedForm] | None = None


class SavedVersions(msgspec.Struct):
    """Versions of software."""

    mlx: Text | None = None


class SavedEnvironment(msgspec.Struct):
    """The environment of a run."""

    versions: SavedVersions
    engine: Text | None = None


class SavedDevice(msgspec.Struct):
    """The device of a run."""

    kind: Text
    name: Text


class SavedRun(msgspec.Struct):
    """A file of results."""

    schema: Literal[1]
    device: SavedDevice
    environment: SavedEnvironment
    results: list[SavedRow]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One kernel's result; times in nanoseconds, `ratio` is reference / kernel.

    `time_ns` is on the GPU's clock if there is one; `clock` is the clock of the ratio. `reference`
    is the reference's form and the version of MLX. `engine` is the execution mode of the cpu device
    for kernels with barriers.
    """

    task: str
    dtype: str
    size: str
    sizes: Mapping[str, int]
    status: str
    mode: str
    engine: str
    clock: str | None
    source_hash: str
    reference: tuple[str | None, str | None]
    time_ns: Interval | None
    ratio: Interval | None
    verdict: str | None = None

    @property
    def key(self) -> Key:
        """Task, element type and size: rows with the same key are the same kernel."""
        return self.task, self.dtype, self.size


@dataclass(frozen=True, slots=True)
class ResultSet:
    """The rows of a run on one device, and its name; `run` is its number in the store.

    `others` are, for each row's key, the stored results of other runs of the task under the same
    conditions, the latest first; empty for a file.
    """

    name: str
    device: str
    rows: tuple[ComparedRow, ...]
    others: Mapping[tuple[str, ...], tuple[HistoryEntry, ...]] = field(default_factory=dict)
    run: int | None = None

    @classmethod
    def of_run(cls, store: Store, run: int, name: str) -> ResultSet:
        """Read run number `run` of `store`.

        Raises StoreError if it has no results, unless it was a run of a folder without kernels.
        """
        entries = store.results(run)
        device = store.empty_run_device(run) if not entries else None
        if device is not None:
            return cls(name, _describe_device(*device), (), run=run)
        if not entries:
            raise store.make_empty_run_error(run)
        others: dict[tuple[str, ...], tuple[HistoryEntry, ...]] = {
            row_from_entry(entry).key: _find_other_runs(store, entry) for entry in entries
        }
        return cls(
            name,
            _describe_device(entries[0].device_kind, entries[0].device_name),
            tuple(map(row_from_entry, entries)),
            others,
            run,
        )

    @classmethod
    def of_file(cls, path: Path) -> ResultSet:
        """Read a file of `metalbench run --json`.

        Raises DeclarationError, with the file and the field, for any other file.
        """
        document = read_json(path, SavedRun, form=FORM)
        device = _describe_device(document.device.kind, document.device.name)
        rows = tuple(_make_row(row, document.environment) for row in document.results)
        return cls(str(path), device, rows)


def find_latest(store: Store, back: int, name: str) -> int:
    """Return the number of the run `back` runs before the latest; raises StoreError without it."""
    known = store.runs(back + 1)
    if len(known) <= back:
        listed = f" ({', '.join(f'run:{each}' for each in known)})" if known else ""
        raise StoreError(
            f"[store] {store.path}: {name}: expected {back + 1} or more runs in this "
            f"project, got {len(known)}{listed}; `metalbench run` makes more"
        )
    return known[back]


def _find_other_runs(store: Store, entry: HistoryEntry) -> tuple[HistoryEntry, ...]:
    past = store.history(entry.task, MOST_OTHERS)
    same = (each for each in past if each.conditions == entry.conditions)
    return tuple(each for each in same if each.run != entry.run)


def row_from_entry(entry: HistoryEntry) -> ComparedRow:
    """Return the compared part of a stored result."""
    return ComparedRow(
        task=entry.task,
        dtype=entry.dtype,
        size=entry.size,
        sizes=entry.sizes,
        status=entry.status,
        mode=entry.mode,
        engine=entry.engine,
        clock=entry.clock,
        source_hash=entry.source_hash,
        reference=(entry.form, entry.mlx),
        time_ns=entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns,
        ratio=entry.ratio,
        verdict=entry.verdict,
    )


def _make_row(row: SavedRow, environment: SavedEnvironment) -> ComparedRow:
    gpu_ns, kernel_ns = _make_interval(row.gpu_ns), _make_interval(row.kernel_ns)
    return ComparedRow(
        task=row.task,
        dtype=row.dtype,
        size=row.size,
        sizes=row.sizes,
        status=row.status,
        mode=row.mode or "warm",
        engine=environment.engine or "fibers",
        clock=row.clock,
        source_hash=row.source_hash,
        reference=(
            next((form.name for form in row.forms or () if form.compared), None),
            environment.versions.mlx,
        ),
        time_ns=kernel_ns if gpu_ns is None else gpu_ns,
        ratio=_make_interval(row.ratio),
        verdict=row.verdict,
    )


def _make_interval(given: SavedInterval[float] | None) -> Interval | None:
    """Return an interval without ends that are too far away."""
    if given is None or given.value is None:
        return None
    whole = Interval(
        given.value,
        -math.inf if given.low is None else given.low,
        math.inf if given.high is None else given.high,
    )
    nearest, farthest = whole.useful_ends
    return Interval(
        given.value,
        -math.inf if nearest is None else nearest,
        math.inf if farthest is None else farthest,
    )


def _describe_device(kind: str, name: str) -> str:
    return f"{kind} ({name})"


def index_rows(rows: Sequence[ComparedRow]) -> dict[Key, ComparedRow]:
    """Return rows by key; of several rows the last."""
    return {row.key: row for row in rows}


# Histories of kernels: the best and the latest result, and regressions.


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Comparable results of a task: one device, element type, size, mode and clock.

    `entries` are all results, the latest first. `timed` are the correct ones with the same kind of
    score as the latest: the ratio to MLX (`by_reference`), of the same version and form, else the
    time.
    """

    entries: tuple[HistoryEntry, ...]
    timed: tuple[HistoryEntry, ...]
    by_reference: bool
    spread: RunSpread

    @property
    def latest(self) -> HistoryEntry | None:
        """The latest result that was timed."""
        return self.timed[0] if self.timed else None

    @property
    def incorrect(self) -> HistoryEntry | None:
        """The latest result of all if it is not correct; None if it is."""
        last = self.entries[0]
        return last if last.status != "correct" else None

    @property
    def best(self) -> HistoryEntry | None:
        """The result with the best lower end of its score: lucky times have wide intervals."""
        return max(self.timed, key=self._low_score, default=None)

    @property
    def against_previous(self) -> Judgement | None:
        """The latest against the previous result; None without a previous one."""
        return self._judge_against(self.timed[1]) if len(self.timed) > 1 else None

    @property
    def against_best(self) -> Judgement | None:
        """The latest against the best of all; None if it is the best, or the only one."""
        best = self.best
        if best is None or best is self.latest:
            return None
        # The best of many runs is biased by selection.
        return self._judge_against(best, tries=len(self.timed) - 1)

    @property
    def regressed(self) -> bool:
        """Whether the latest is SLOWER than the best or than the previous result."""
        found = (self.against_previous, self.against_best)
        return any(each is not None and each.verdict is Verdict.SLOWER for each in found)

    def score(self, entry: HistoryEntry) -> Interval:
        """Return the score, higher is better: the ratio to MLX, or passes per nanosecond."""
        score = _score(row_from_entry(entry), by_reference=self.by_reference)
        assert score is not None
        return score

    def _low_score(self, entry: HistoryEntry) -> float:
        return self.score(entry).low

    def _judge_against(self, other: HistoryEntry, tries: int = 1) -> Judgement:
        latest = self.latest
        assert latest is not None
        return assess_unpaired(
            self.score(latest), self.score(other), between=self.spread, tries=max(tries, 1)
        )


def group_histories(entries: Sequence[HistoryEntry]) -> Iterator[TaskHistory]:
    """Yield the results of a task grouped by comparable conditions, the latest first.

    A result that was not timed, such as an incorrect one, has neither clock nor Metal's tools. It
    is in the group of the latest timed result with otherwise equal conditions.
    """
    timed: dict[tuple[object, ...], tuple[Any, ...]] = {}
    for entry in entries:
        if entry.kernel_ns is not None:
            untimed = replace(entry, clock=None, metal_tools=())
            timed.setdefault(untimed.conditions, entry.conditions)

    def find_conditions(entry: HistoryEntry) -> tuple[Any, ...]:
        if entry.kernel_ns is None:
            return timed.get(entry.conditions, entry.conditions)
        return entry.conditions

    for _, same in groupby(sorted(entries, key=find_conditions), find_conditions):
        yield _build_history(tuple(same))


def _build_history(entries: tuple[HistoryEntry, ...]) -> TaskHistory:
    correct = [entry for entry in entries if entry.status == "correct" and entry.kernel_ns]
    rows = {entry.id: row_from_entry(entry) for entry in correct}
    by_reference = bool(correct) and correct[0].ratio is not None
    timed = [
        entry
        for entry in correct
        if _score(rows[entry.id], by_reference=by_reference) is not None
        and (not by_reference or rows[entry.id].reference == rows[correct[0].id].reference)
    ]
    # The latest result is judged: it must not widen its own interval.
    spread = estimate_source_spread(timed[1:], by_reference=by_reference)
    return TaskHistory(entries, tuple(timed), by_reference, spread)


def estimate_source_spread(entries: Sequence[HistoryEntry], *, by_reference: bool) -> RunSpread:
    """Estimate the deviation between runs of one source, from comparable results."""
    repeated: dict[tuple[object, ...], list[Interval]] = {}
    for entry in entries:
        score = _score(row_from_entry(entry), by_reference=by_reference)
        if score is not None:
            same = (entry.source_hash, *sorted(entry.tunables.items()))
            repeated.setdefault(same, []).append(score)
    return estimate_run_spread(list(repeated.values()))


def _score(row: ComparedRow, *, by_reference: bool) -> Interval | None:
    if by_reference:
        return row.ratio
    return None if row.time_ns is None else row.time_ns.map(lambda time_ns: 1.0 / time_ns)
