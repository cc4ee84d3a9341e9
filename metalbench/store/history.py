"""Read stored results by task, by run and by number."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metalbench.errors import StoreError
from metalbench.stats import Interval

FACTS = {
    "id": "results.id",
    "run": "run",
    "recorded_at": "recorded_at",
    "device_kind": "device_kind",
    "device_name": "device_name",
    "device_cores": "device_cores",
    "task": "task",
    "size": "size",
    "dtype": "dtype",
    "kernel": "kernel",
    "source_hash": "source",
    "status": "status",
    "verdict": "verdict",
    "mode": "coalesce(mode, 'warm')",
    "clock": "clock",
    "p_value": "p_value",
    "revision": "json_extract(environments.json, '$.revision')",
    "mlx": "json_extract(environments.json, '$.versions.mlx')",
    # Old rows lack the mode; fibers was the only one then.
    "engine": "coalesce(json_extract(environments.json, '$.engine'), 'fibers')",
    "form": (
        "(SELECT json_extract(value, '$.name') FROM json_each(coalesce(forms, '[]'))"
        " WHERE json_extract(value, '$.compared') LIMIT 1)"
    ),
    "tunables": "tunables",
    "sizes": "sizes",
    "project_revision": "project_revision",
    "metal_tools": "coalesce(json_extract(device_state, '$.metal_tools'), '[]')",
}
OBJECTS = ("tunables", "sizes", "metal_tools")
INTERVALS = ("kernel_ns", "reference_ns", "ratio", "gpu_ns", "gpu_ratio", "wall_ratio")
RESULTS = f"""
SELECT {", ".join(FACTS.values())},
       {", ".join(f"{name}, {name}_low, {name}_high" for name in INTERVALS)}
FROM results JOIN runs ON runs.id = results.run
     JOIN environments ON environments.id = runs.environment
"""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One stored result of a task; times in nanoseconds, `source_hash` of the kernel's text.

    `device_cores` are 0 where the device does not report them. `revision` is metalbench's, None
    outside of a checkout. `project_revision` is that of the repository that the command ran in,
    None if there was none. `mlx` is the version of the reference, and `form` its form if several
    were timed. `metal_tools` are the environment variables of Metal's tools that were set, with
    which times are longer.
    """

    id: int
    run: int
    recorded_at: str
    device_kind: str
    device_name: str
    task: str
    size: str
    dtype: str
    kernel: str
    source_hash: str
    status: str
    verdict: str | None
    mode: str
    clock: str | None
    p_value: float | None
    revision: str | None
    mlx: str | None
    engine: str
    form: str | None
    tunables: Mapping[str, int]
    sizes: Mapping[str, int]
    kernel_ns: Interval | None
    reference_ns: Interval | None
    ratio: Interval | None
    gpu_ns: Interval | None
    gpu_ratio: Interval | None = None
    wall_ratio: Interval | None = None
    metal_tools: Sequence[str] = ()
    device_cores: int = 0
    project_revision: str | None = None

    @property
    def commit(self) -> str | None:
        """The commit of the kernels: that of the project, else of metalbench; None if unknown."""
        return self.project_revision or self.revision

    @property
    def conditions(self) -> tuple[object, ...]:
        """The conditions that results of a task must share to be comparable."""
        sizes = tuple(sorted(self.sizes.items()))
        device = (self.device_kind, self.device_name, self.engine)
        return (
            *device,
            self.size,
            sizes,
            self.dtype,
            self.mode,
            self.clock or "",
            *self.metal_tools,
        )


def read_history(
    connection: sqlite3.Connection, visible: str, values: Mapping[str, object]
) -> list[HistoryEntry]:
    """Return up to `limit` results of `task`, the latest first; both are in `values`.

    `visible` is a condition of the runs that count, with values by name.
    """
    where = f"WHERE task = :task AND {visible} ORDER BY results.id DESC LIMIT :limit"
    return [_entry(row) for row in connection.execute(RESULTS + where, values)]


def read_results(connection: sqlite3.Connection, run: int) -> list[HistoryEntry]:
    """Return every result of a run, in order."""
    where = "WHERE run = ? ORDER BY results.id"
    return [_entry(row) for row in connection.execute(RESULTS + where, (run,))]


def read_result(connection: sqlite3.Connection, result: int) -> HistoryEntry:
    """Return result number `result`; raises StoreError if it does not exist."""
    row = connection.execute(RESULTS + "WHERE results.id = ?", (result,)).fetchone()
    if row is None:
        raise StoreError(f"[store] result {result} does not exist")
    return _entry(row)


def _entry(row: tuple[object, ...]) -> HistoryEntry:
    facts: dict[str, object] = dict(zip(FACTS, row, strict=False))
    facts |= {name: json.loads(str(facts[name])) for name in OBJECTS}
    places = range(len(FACTS), len(row), 3)
    for name, place in zip(INTERVALS, places, strict=True):
        facts[name] = _interval(*row[place : place + 3])  # type: ignore[arg-type]
    return HistoryEntry(**facts)  # type: ignore[arg-type]


def _interval(value: float | None, low: float | None, high: float | None) -> Interval | None:
    """Join an interval's three columns; None if nothing was measured."""
    if value is None:
        return None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)


# Evaluations of samples that models wrote; the latest evaluation of a sample counts.

_KEPT = (
    "generation, level, problem, sample, text_hash, result, outcome, message, measured_from, "
    "measured_to"
)
_FOUND = """
SELECT generation, level, problem, sample, text_hash, result, evaluations.outcome, message,
       measured_from, measured_to, task, size, dtype, device_kind, device_name, kernel_ns,
       kernel_ns_low, kernel_ns_high, ratio, ratio_low, ratio_high, coalesce(forms, '[]')
FROM evaluations JOIN results ON results.id = result JOIN runs ON runs.id = run
WHERE evaluations.id IN (
    SELECT max(evaluations.id) FROM evaluations JOIN results ON results.id = result
        JOIN runs ON runs.id = run
    WHERE generation = ? GROUP BY level, problem, sample, device_kind, device_name, dtype, size
)
ORDER BY level, problem, sample
"""


@dataclass(frozen=True, slots=True)
class SamplePlace:
    """The position of a sample in a generation; `text_hash` is the SHA-256 of its file."""

    generation: str
    level: str
    problem: int
    sample: int
    text_hash: str


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """The outcome class of a sample with its message, and the interval in which it was timed.

    Instants are seconds of the system's monotonic clock, None if it was not timed.
    """

    outcome: str
    message: str = ""
    measured_from: float | None = None
    measured_to: float | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one sample.

    `ratio` is the reference's time over the kernel's, as compared. `forms` are the times of the
    reference's forms by name, in nanoseconds like `kernel_ns`. Samples that were not timed lack all
    of them. `measured_from` and `measured_to` are seconds of the system's monotonic clock.
    """

    place: SamplePlace
    outcome: str
    message: str
    task: str
    size: str
    dtype: str
    device_kind: str
    device_name: str
    result: int
    kernel_ns: Interval | None = None
    ratio: Interval | None = None
    forms: tuple[tuple[str, Interval], ...] = field(default=())
    measured_from: float | None = None
    measured_to: float | None = None


def keep_evaluation(
    connection: sqlite3.Connection, place: SamplePlace, result: int, judged: SampleOutcome
) -> None:
    """Store the outcome of a sample with stored result number `result`."""
    row = (
        *(place.generation, place.level, place.problem, place.sample, place.text_hash, result),
        *(judged.outcome, judged.message, judged.measured_from, judged.measured_to),
    )
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO evaluations ({_KEPT}) VALUES ({marks})", row)


def read_evaluations(connection: sqlite3.Connection, generation: str) -> list[Evaluation]:
    """Return the latest evaluation of every sample, device, element type and size."""
    return [_evaluation(row) for row in connection.execute(_FOUND, (generation,))]


def _evaluation(row: tuple[object, ...]) -> Evaluation:
    *place, result, outcome, message, begin, end, task, size, dtype, kind, name = row[:15]
    return Evaluation(
        place=SamplePlace(*place),  # type: ignore[arg-type]
        outcome=str(outcome),
        message=str(message),
        task=str(task),
        size=str(size),
        dtype=str(dtype),
        device_kind=str(kind),
        device_name=str(name),
        result=int(str(result)),
        kernel_ns=_make_interval(*row[15:18]),
        ratio=_make_interval(*row[18:21]),
        forms=_forms(str(row[21])),
        measured_from=begin,  # type: ignore[arg-type]
        measured_to=end,  # type: ignore[arg-type]
    )


def _forms(text: str) -> tuple[tuple[str, Interval], ...]:
    timed = (
        (each, _make_interval(*map(each.get, ("value", "low", "high"))))
        for each in json.loads(text)
    )
    return tuple((str(each["name"]), time) for each, time in timed if time is not None)


def _make_interval(value: object, low: object, high: object) -> Interval | None:
    if value is None:
        return None
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return Interval(value, *ends)  # type: ignore[arg-type]
