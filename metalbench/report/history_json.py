"""A task's past for other programs.

JSON: one object.

    schema          1
    task            string
    pasts           list of those that compare within, each
        device, size, dtype, mode           strings
        sizes            {name: integer}
        by               "MLX" or "time": what results are compared by
        spread           standard deviation of equal sources' logarithms beyond their intervals
        repeats          from how many differences of runs it is; with fewer than 4 it is at least
                         0.01, which is assumed
        latest, best     ids of results, or null
        against_previous, against_best      {ratio, verdict, p_value, reasons}, or null
        regressed        whether the latest is SLOWER than either
        results          the latest first: list of
            id, run      integers
            recorded_at, source_hash, status     strings
            revision, mlx, form, verdict         strings, or null
            kernel_ns, gpu_ns, ratio             intervals, or null

Of all tasks: one object {schema, tasks}, where tasks is a list of {task, pasts}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from metalbench.comparison.compare import BY_REFERENCE, BY_TIME
from metalbench.foreign_text import json_text
from metalbench.report.export import interval_json

if TYPE_CHECKING:
    from metalbench.comparison.past import TaskHistory
    from metalbench.stats import Judgement
    from metalbench.store import HistoryEntry

SCHEMA = 1
PLAIN = ("id", "run", "recorded_at", "source_hash", "status", "revision", "mlx", "form", "verdict")
INTERVALS = ("kernel_ns", "gpu_ns", "ratio")


def history_json(task: str, pasts: Sequence[TaskHistory]) -> str:
    """Return the histories of `task` as the JSON described above."""
    document = {"schema": SCHEMA, "task": task, "pasts": [_past(each) for each in pasts]}
    return json_text(document, indent=2) + "\n"


def all_json(pasts: Mapping[str, Sequence[TaskHistory]]) -> str:
    """Return the histories of several tasks as the JSON described above."""
    tasks = [
        {"task": task, "pasts": [_past(each) for each in found]} for task, found in pasts.items()
    ]
    return json_text({"schema": SCHEMA, "tasks": tasks}, indent=2) + "\n"


def _past(past: TaskHistory) -> dict[str, Any]:
    first = past.entries[0]
    return {
        "device": f"{first.device_kind} ({first.device_name})",
        "size": first.size,
        "dtype": first.dtype,
        "mode": first.mode,
        "sizes": dict(first.sizes),
        "by": BY_REFERENCE if past.by_reference else BY_TIME,
        "spread": past.spread.deviation,
        "repeats": past.spread.repeats,
        "latest": past.latest.id if past.latest else None,
        "best": past.best.id if past.best else None,
        "against_previous": _judgement(past.against_previous),
        "against_best": _judgement(past.against_best),
        "regressed": past.regressed,
        "results": [_entry(each) for each in past.entries],
    }


def _judgement(judgement: Judgement | None) -> dict[str, Any] | None:
    if judgement is None:
        return None
    return {
        "ratio": interval_json(judgement.ratio),
        "verdict": judgement.verdict.value,
        "p_value": judgement.p_value,
        "reasons": [asdict(reason) for reason in judgement.reasons],
    }


def _entry(entry: HistoryEntry) -> dict[str, Any]:
    plain = {name: getattr(entry, name) for name in PLAIN}
    return plain | {name: interval_json(getattr(entry, name)) for name in INTERVALS}
