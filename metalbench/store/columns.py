"""Map a result to the columns of the table `results`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.measure import FormTime, Measurement
    from metalbench.result import Result
    from metalbench.stats import Interval


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
