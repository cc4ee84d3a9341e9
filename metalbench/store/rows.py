"""Map a result to the columns of the table `results`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metalbench.measure.measurement import FormTime, Measurement, SampleSet
    from metalbench.stats import Interval
    from metalbench.store.result import Result


def result_columns(result: Result) -> dict[str, object]:
    """Return the row of the table `results`, without its run and its instant."""
    case, measured, analysis = result.case, result.measurement, result.analysis
    columns: dict[str, object] = {
        "task": case.task,
        "task_set": case.set,
        "size": case.size,
        "sizes": json.dumps(dict(case.sizes)),
        "dtype": case.dtype,
        "kernel": case.kernel,
        "source": case.source_hash,
        "tunables": json.dumps(dict(case.tunables)),
        "tuning": case.tuning or None,
        "status": result.status.value,
        "failures": json.dumps([asdict(failure) for failure in result.failures]),
        "checks": json.dumps([asdict(check) for check in result.checks]),
        "seconds": result.seconds,
        "device_state": json.dumps(dict(result.state), sort_keys=True),
        "notes": json.dumps(list(result.notes)),
    }
    if measured is not None:
        columns |= {
            **_interval("kernel_ns", measured.candidate_ns),
            **_interval("reference_ns", measured.reference_ns),
            **_interval("ratio", measured.ratio),
            **_interval("gpu_ns", measured.gpu_ns),
            **_interval("gpu_ratio", measured.gpu_ratio),
            **_interval("wall_ratio", measured.wall_ratio),
            "gpu_floor_ns": measured.gpu_floor_ns,
            "clock": measured.clock,
            "verdict": measured.verdict.value if measured.verdict else None,
            "stability": measured.stability,
            "floor_ns": measured.floor_ns,
            "stopped": measured.stopped.value,
            **_certainty(measured),
        }
    if analysis is not None:
        columns["gflops"] = analysis.work.gflops.value
        columns["gbytes_per_s"] = analysis.work.gbytes_per_s.value
    return columns


def _interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {}
    low, high = (interval.low, interval.high) if interval.is_bounded else (None, None)
    return {name: interval.value, f"{name}_low": low, f"{name}_high": high}


def _certainty(measured: Measurement) -> dict[str, object]:
    judgement = measured.judgement
    reasons = judgement.reasons if judgement else ()
    return {
        "p_value": judgement.p_value if judgement else None,
        "reasons": json.dumps([asdict(reason) for reason in reasons]),
        "mode": measured.mode.value,
        "effective_pairs": measured.effective_pairs,
        "outliers": measured.outliers,
        "discarded": measured.steadiness.discarded,
        "retries": measured.steadiness.retries,
        "probe_spread": measured.steadiness.spread,
        "forms": json.dumps([_form(form) for form in measured.forms]),
    }


def _form(form: FormTime) -> dict[str, object]:
    ends = _interval("value", form.time_ns)
    return {
        "name": form.name,
        "value": ends.get("value"),
        "low": ends.get("value_low"),
        "high": ends.get("value_high"),
        "compared": form.compared,
        "fault": form.fault,
    }


# Convert raw samples to rows: series, passes, dtype and bytes.

Row = tuple[str, int, str, "NDArray[np.generic]"]


def sample_rows(samples: SampleSet) -> list[tuple[str, int, str, sqlite3.Binary]]:
    """Return a row for every series of a measurement: name, passes of a sample, dtype and bytes."""
    from metalbench.measure.measurement import LONGER

    passes = samples.candidate_window
    rows: list[Row] = [
        ("kernel", passes, "<f8", samples.candidate_ns),
        ("reference", samples.reference_window, "<f8", samples.reference_ns),
        ("floor", passes, "<f8", samples.floor_ns),
        ("kernel_first", passes, "|u1", samples.candidate_first),
        ("look", passes, "<u2", samples.batch),
    ]
    if samples.probe_ns.size:
        rows.append(("probe", 1, "<f8", samples.probe_ns))
    if samples.long_ns.size:
        rows.append(("long", LONGER * samples.long_base, "<f8", samples.long_ns))
    if samples.reference_long_ns.size:
        long_passes = LONGER * samples.reference_long_base
        rows.append(("reference_long", long_passes, "<f8", samples.reference_long_ns))
    for side, after in (
        ("kernel", samples.probe_after_candidate_ns),
        ("reference", samples.probe_after_reference_ns),
    ):
        if after.size:
            rows.append((f"probe_after_{side}", 1, "<f8", after))
    rows += _by_both_clocks(samples)
    return [
        (series, window, dtype, sqlite3.Binary(values.astype(dtype).tobytes()))
        for series, window, dtype, values in rows
    ]


def read_samples(rows: Iterable[tuple[str, str, bytes]]) -> dict[str, NDArray[Any]]:
    """Return arrays by series, from rows of series, dtype and bytes."""
    import numpy as np

    return {series: np.frombuffer(data, dtype=dtype) for series, dtype, data in rows}


def _by_both_clocks(samples: SampleSet) -> list[Row]:
    own, passes = samples.own, samples.candidate_window
    if own is None:
        return []
    sides: list[Row] = [
        ("gpu", passes, "<f8", own.device_ns),
        ("counter", passes, "<f8", own.counter_ns),
        ("wall", passes, "<f8", own.wall_ns),
        ("encode", 1, "<f8", own.encode_ns),
        ("floor_gpu", passes, "<f8", own.floor_ns),
        ("reference_gpu", samples.reference_window, "<f8", own.reference_device_ns),
        ("reference_wall", samples.reference_window, "<f8", own.reference_wall_ns),
    ]
    return [row for row in sides if row[3].size]
