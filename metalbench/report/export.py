"""Results for other programs.

JSON: one object.

    schema          1
    metalbench      version
    note            null, or what is to be known about times of a simulation
    device          {kind, name, chip, cores, capabilities}
    environment     {machine, cpu, cores, memory_bytes, os, python, versions, revision, engine}
    options         the command line's options
    geometric_mean  interval of the ratios, or null; verdicts are those of all results together
    left_out        [kernel]: those that the mean does not cover, for want of a ratio
    results         list of
        task, set, size, dtype, kernel, source_hash, reference     strings
        tuning       where tunables come from, if a search found them
        sizes, tunables                                            {name: integer}
        status       "correct", "incorrect", "failed" or "not by its own kernels"
        failures     [{stage, kind, message, place}]
        notes        [string]: what could not be checked here, what makes times doubtful
        unconfined   what the system lacked to confine a Python candidate (--unconfined), or null
        state        {name: value}: of the device when the kernel had been timed
        checks       [{size, seed, passed, worst, where, message}]; worst is error / bound, or null
        occupancy    [{pipeline, threadgroups, threads, max_threads, threadgroup_bytes, ...}]
        kernel_ns, reference_ns, ratio, gflops, gbytes_per_s       intervals, or null
        gpu_ns       interval of the kernel's time on the GPU's own clock, or null
        clock        "GPU time" or "wall time": of kernel_ns, reference_ns, ratio, verdict; or null
        gpu_ratio, wall_ratio                                      the ratio by each clock, or null
        wall_ns, wall_reference_ns                                 both sides' wall times, or null
        gpu_floor_ns  median time of empty kernels on the GPU's own clock, or null; gpu_ns has it
        verdict      "FASTER", "SLOWER", "SAME", "INCONCLUSIVE", "THROTTLED" or null
        p_value      of a ratio as far from 1, were there no difference that counts; or null
        reasons      [{cause, seen, remedy}]: of an INCONCLUSIVE verdict
        blocks       interval whose ends are the lowest and highest block of few pairs; or null
        order_effect  relative cost of being second in a pair, taken out of the ratio; or null
        look_spread  relative standard deviation between looks, where they differ; or null
        launch_bound  whether a kernel that does nothing takes nearly as long, or null
        usual_times  [{value, share}]: in ns, where the kernel's times have several; else empty
        warnings     [{title, seen, cause, remedy}]: what makes the times worth less
        stability    0..1, or null
        scores       {speed, compute, memory, stable, balanced}, or null
        counted      {size, timed, read, written, unique_read, ...}: bytes of one pass, or null
        roofline     {bound, fraction, valid, reason}, or null
        pairs, effective_pairs, outliers, floor_ns, stopped        of the sampling, or null
        mode         "warm" or "cold": whether inputs stayed in the caches; or null
        forms        [{name, time_ns, compared, fault}]: of the reference; time_ns an interval
        throttling   {discarded, retries, throttled, spread}: of the device's clock, or null
        slope, reference_slope  {pass_ns, share, deviation}: of short against long windows, or null
        command_buffers  {kernel, reference}: passes in one; null where the device chose, or unknown
        clock_ratio  interval: the GPU's clock after the kernel's windows / after MLX's; or null
        seconds      wall time spent on the kernel

An interval is {value, low, high}; an end is null where the samples carried none. A ratio is
reference time / kernel time; gflops and gbytes_per_s follow from gpu_ns where there is one. The raw
samples are in the store.

A place is {file, line, column, buffer, index, byte, address, thread, threadgroup}, each null where
the message does not tell it: `index` is that of an output's element, `byte` an offset in the
buffer, `address` a pointer as 0x..., `thread` and `threadgroup` are [x, y, z].

CSV: a header and one line for each result, with the columns of `CSV_COLUMNS`; what is unknown is
empty, times are nanoseconds of one pass.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from metalbench.report.summary import list_left_out, suite_ratio
from metalbench.report.warnings import list_warnings, simulation_notice, usual_times
from metalbench.safe_text import csv_cell, json_text
from metalbench.verify import place_of

if TYPE_CHECKING:
    from metalbench.measure.measurement import FormTime, Measurement
    from metalbench.stats import Interval
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts, Failure, Result

SCHEMA = 1
INTERVALS = (
    *("kernel_ns", "reference_ns", "ratio", "gflops", "gbytes_per_s", "gpu_ns"),
    *("gpu_ratio", "wall_ratio", "wall_ns", "wall_reference_ns"),
)
PLAIN_BEFORE = ("task", "set", "size", "dtype", "kernel", "source_hash", "device", "status")
PLAIN_AFTER = (
    "verdict",
    "p_value",
    "launch_bound",
    "clock",
    "stability",
    "worst_error",
    "pairs",
    "seconds",
    "failure",
)
CSV_COLUMNS = (
    *PLAIN_BEFORE,
    *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high")),
    *PLAIN_AFTER,
)


def to_json(
    results: Sequence[Result],
    device: DeviceFacts,
    environment: Environment,
    options: Mapping[str, Any],
) -> str:
    """Return results as the JSON described above."""
    of_all = {
        "geometric_mean": interval_json(suite_ratio(results)),
        "left_out": list_left_out(results),
        "results": [result_to_dict(result) for result in results],
    }
    return document_json(device, environment, options, of_all)


def document_json(
    device: DeviceFacts,
    environment: Environment,
    options: Mapping[str, Any],
    of_results: Mapping[str, Any],
) -> str:
    """Return the JSON of a run: its machine and options, and its results."""
    document = {
        "schema": SCHEMA,
        "metalbench": environment.versions.get("metalbench"),
        "note": simulation_notice(device),
        "device": asdict(device),
        "environment": environment.as_dict(),
        "options": dict(options),
        **of_results,
    }
    return json_text(document, indent=2) + "\n"


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV of a header and the rows, sanitised; keys without a column are left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({key: csv_cell(cell) for key, cell in row.items()} for row in rows)
    return text.getvalue()


def to_csv(results: Sequence[Result]) -> str:
    """Return results as the CSV described above."""
    return write_csv(CSV_COLUMNS, map(_row, results))


def _row(result: Result) -> dict[str, Any]:
    row = result_to_dict(result)
    for name in INTERVALS:
        interval = row[name] or {"value": None, "low": None, "high": None}
        row[name] = interval["value"]
        row[f"{name}_low"], row[f"{name}_high"] = interval["low"], interval["high"]
    worst = result.worst_check
    row["worst_error"] = worst.worst if worst else None
    row["device"] = result.device.kind
    row["failure"] = "; ".join(failure.message for failure in result.failures)
    return row


def result_to_dict(result: Result) -> dict[str, Any]:
    """Return one entry of `results`."""
    case, measured, analysis = result.case, result.measurement, result.analysis
    work = analysis.work if analysis else None
    return {
        **{name: getattr(case, name) for name in PLAIN_BEFORE[:6]},
        "reference": case.reference,
        "tuning": case.tuning,
        "sizes": dict(case.sizes),
        "tunables": dict(case.tunables),
        "status": result.status.value,
        "failures": [_failure(failure) for failure in result.failures],
        "notes": list(result.notes),
        "unconfined": result.unconfined or None,
        "state": dict(result.state),
        "checks": [asdict(check) for check in result.checks],
        "occupancy": [asdict(dispatch) for dispatch in result.occupancy],
        "kernel_ns": interval_json(measured.candidate_ns if measured else None),
        **comparison_fields(measured),
        "gflops": interval_json(work.gflops if work else None),
        "gbytes_per_s": interval_json(work.gbytes_per_s if work else None),
        **_clocks(measured),
        **_certainty(measured),
        "stability": measured.stability if measured else None,
        "scores": asdict(analysis.scores) if analysis else None,
        "counted": asdict(result.counted) if result.counted else None,
        "roofline": asdict(analysis.roofline) if analysis else None,
        **_sampling(measured),
        "seconds": result.seconds,
    }


def comparison_fields(measured: Measurement | None) -> dict[str, Any]:
    """Return the fields of the comparison with the reference."""
    return {
        "reference_ns": interval_json(measured.reference_ns if measured else None),
        "ratio": interval_json(measured.ratio if measured else None),
        "verdict": measured.verdict.value if measured and measured.verdict else None,
    }


def _sampling(measured: Measurement | None) -> dict[str, Any]:
    """Return the fields of the sampling and of the reference's forms."""
    return {
        "pairs": measured.pairs if measured else None,
        "effective_pairs": measured.effective_pairs if measured else None,
        "outliers": measured.outliers if measured else None,
        "floor_ns": measured.floor_ns if measured else None,
        "stopped": measured.stopped.value if measured else None,
        "mode": measured.mode.value if measured else None,
        "forms": [_form(form) for form in measured.forms] if measured else [],
        "throttling": asdict(measured.steadiness) if measured else None,
        "slope": asdict(measured.slope) if measured and measured.slope else None,
        "reference_slope": (
            asdict(measured.reference_slope) if measured and measured.reference_slope else None
        ),
        "command_buffers": {
            "kernel": (measured.samples.passes_per_command_buffer or None) if measured else None,
            "reference": (
                (measured.samples.reference_passes_per_command_buffer or None) if measured else None
            ),
        },
        "clock_ratio": interval_json(measured.clock_ratio if measured else None),
    }


def _clocks(measured: Measurement | None) -> dict[str, Any]:
    """Return the fields of each clock, if the device has a separate one."""
    by_wall = measured.by_wall if measured else None
    wall_ns: Interval | None
    if by_wall is None and measured is not None and measured.clock == "wall time":
        wall_ns, wall_reference_ns = measured.candidate_ns, measured.reference_ns
    else:
        wall_ns = by_wall.candidate_ns if by_wall else None
        wall_reference_ns = by_wall.reference_ns if by_wall else None
    return {
        "gpu_ns": interval_json(measured.gpu_ns if measured else None),
        "clock": measured.clock if measured else None,
        "gpu_ratio": interval_json(measured.gpu_ratio if measured else None),
        "wall_ratio": interval_json(measured.wall_ratio if measured else None),
        "wall_ns": interval_json(wall_ns),
        "wall_reference_ns": interval_json(wall_reference_ns),
        "gpu_floor_ns": measured.gpu_floor_ns if measured else None,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return asdict(failure) | {"place": asdict(place_of(failure.message))}


def _form(form: FormTime) -> dict[str, Any]:
    return asdict(form) | {"time_ns": interval_json(form.time_ns)}


def _certainty(measured: Measurement | None) -> dict[str, Any]:
    """Return the fields about the reliability of verdict and times."""
    judgement = measured.judgement if measured else None
    usual = usual_times(measured) if measured else ()
    return {
        "p_value": judgement.p_value if judgement else None,
        "reasons": [asdict(reason) for reason in judgement.reasons] if judgement else [],
        "blocks": interval_json(judgement.blocks) if judgement else None,
        "order_effect": judgement.order_effect if judgement else None,
        "look_spread": judgement.batch_spread if judgement else None,
        "launch_bound": measured.launch_bound if measured else None,
        "usual_times": [asdict(each) for each in usual] if len(usual) > 1 else [],
        "warnings": [asdict(each) for each in list_warnings(measured)] if measured else [],
    }


def interval_json(interval: Interval | None) -> dict[str, float | None] | None:
    """Return an interval as the JSON described above."""
    if interval is None:
        return None
    low, high = interval.useful_ends
    return {"value": interval.value, "low": low, "high": high}
