"""Evaluations of samples that models wrote; the latest evaluation of a sample counts."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass, field

from metalbench.stats import Interval

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
        kernel_ns=_interval(*row[15:18]),
        ratio=_interval(*row[18:21]),
        forms=_forms(str(row[21])),
        measured_from=begin,  # type: ignore[arg-type]
        measured_to=end,  # type: ignore[arg-type]
    )


def _forms(text: str) -> tuple[tuple[str, Interval], ...]:
    timed = (
        (each, _interval(*map(each.get, ("value", "low", "high")))) for each in json.loads(text)
    )
    return tuple((str(each["name"]), time) for each, time in timed if time is not None)


def _interval(value: object, low: object, high: object) -> Interval | None:
    if value is None:
        return None
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return Interval(value, *ends)  # type: ignore[arg-type]
