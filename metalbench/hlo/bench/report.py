"""Report timed programs as a table, as JSON and as CSV.

The JSON has the form of `metalbench run --json`, so that `metalbench compare` can compare two
files. `task` is the program's id, `size` the level (`O2`). Each result also has

    p95_ns, p99_ns   percentiles of the time of one run over all windows, or null
    rivals           [{name, version, reference_ns, ratio, verdict, why}]
    utilization      {kernels_before, kernels, moved_bytes, least_bytes, flops, live_bytes,
                      has_loops, flops_per_second}, or null
    kernels          [{name, time_ns, share, moved_bytes}]: each kernel alone

The CSV has a line for each program and rival, with the columns `CSV_COLUMNS`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from metalbench.hlo.bench.timing import ProgramResult, RivalResult
from metalbench.report import numbers
from metalbench.report.export import comparison_fields, document_json, interval_json, write_csv

if TYPE_CHECKING:
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts

CSV_COLUMNS = (
    *("program", "level", "status", "rival", "median_ns", "p95_ns", "p99_ns", "rival_ns"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "kernels_before", "kernels", "moved"),
    *("flops", "live_bytes", "why"),
)


def format_table(results: Sequence[ProgramResult]) -> Table:
    """Return a table with a row for each program."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = list(dict.fromkeys(each.name for one in results for each in one.against if each.name))
    for name in ("program", "kernels", "bytes", "live", "time", "p95", "p99"):
        table.add_column(name, no_wrap=True)
    table.add_column("GFLOP/s", justify="right", no_wrap=True)
    for name in names:
        table.add_column(name, no_wrap=True)
    for each in results:
        table.add_row(*_format_cells(each, names))
    return table


def _format_cells(one: ProgramResult, names: Sequence[str]) -> Iterator[str]:
    use, measured = one.use, one.measurement
    yield one.subject.name
    if use is None or measured is None:
        yield "failed"
        return
    yield f"{use.kernels_before} -> {use.kernels}"
    yield f"{use.moved:.2f}x" + (" *" if use.has_loops else "")
    yield numbers.size(use.live_bytes)
    yield numbers.time(measured.work_ns)
    for percent in (95, 99):
        yield numbers.short_time(one.compute_percentile(percent) or 0.0)
    rate = one.compute_flops_per_second()
    yield numbers.MISSING if rate is None else numbers.significant(rate / 1e9)
    for name in names:
        yield _format_rival(next((each for each in one.against if each.name == name), None))


def _format_rival(rival: RivalResult | None) -> str:
    if rival is None or rival.measurement is None:
        return numbers.MISSING
    measured = rival.measurement
    verdict = f" {measured.verdict.value}" if measured.verdict else ""
    return f"{numbers.ratio(measured.ratio)}{verdict}"


def format_kernel_table(one: ProgramResult) -> Table:
    """Return a table of a program's kernels: time, share of the sum, and moved bytes."""
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    for name in (one.subject.name, "alone", "share", "bytes"):
        table.add_column(name, no_wrap=True)
    for each in one.kernels:
        size = numbers.size(each.moved_bytes)
        table.add_row(each.name, numbers.short_time(each.time_ns), f"{each.share:.0%}", size)
    return table


def list_remarks(results: Sequence[ProgramResult]) -> Iterator[str]:
    """Yield the remarks below the table."""
    for one in results:
        if one.why:
            yield f"{one.subject.name}: {one.why}"
        for each in one.against:
            if each.why:
                yield f"{one.subject.name}: not timed against {each.name}: {each.why}"
    yield (
        "bytes: size of all kernels' buffers, divided by that of arguments and results. A ratio "
        "above 1 means that the kernels are faster."
    )
    if any(one.use is not None and one.use.has_loops for one in results):
        yield "*: loops and branches count once."


def to_json(
    results: Sequence[ProgramResult],
    device: DeviceFacts,
    environment: Environment,
    options: Mapping[str, Any],
) -> str:
    """Return the results as the JSON described above."""
    found = {"results": [_to_dict(each) for each in results]}
    return document_json(device, environment, options, found)


def _to_dict(one: ProgramResult) -> dict[str, Any]:
    """Return the JSON object of one program."""
    measured, compared = one.measurement, one.compared
    forms = [
        {"name": f"{each.name} {each.version}", "compared": each is compared}
        for each in one.against
        if each.name
    ]
    rate = one.compute_flops_per_second()
    return {
        "task": one.subject.name,
        "set": one.subject.family,
        "size": f"O{one.level}",
        "dtype": one.inputs[0].element.numpy.name if one.inputs else "none",
        "sizes": {
            f"arg{n}_{axis}": size
            for n, each in enumerate(one.inputs)
            for axis, size in enumerate(each.shape)
        },
        "source_hash": hashlib.sha256(one.source.encode()).hexdigest(),
        "status": "failed" if one.why else "correct",
        "why": one.why,
        "mode": measured.mode.value if measured else None,
        "clock": measured.clock if measured else None,
        "kernel_ns": interval_json(measured.candidate_ns if measured else None),
        "gpu_ns": interval_json(measured.gpu_ns if measured else None),
        **comparison_fields(measured),
        "pairs": measured.pairs if measured else None,
        "p95_ns": one.compute_percentile(95),
        "p99_ns": one.compute_percentile(99),
        "forms": forms,
        "rivals": [_rival_to_dict(each) for each in one.against if each.name],
        "utilization": {**asdict(one.use), "flops_per_second": rate} if one.use else None,
        "kernels": [asdict(each) for each in one.kernels],
    }


def _rival_to_dict(each: RivalResult) -> dict[str, Any]:
    fields = {"name": each.name, "version": each.version, "why": each.why}
    return fields | comparison_fields(each.measurement)


def to_csv(results: Sequence[ProgramResult]) -> str:
    """Return the results as the CSV described above."""
    return write_csv(
        CSV_COLUMNS,
        (_to_csv_row(one, each) for one in results for each in one.against or (RivalResult(""),)),
    )


def _to_csv_row(one: ProgramResult, each: RivalResult) -> dict[str, Any]:
    """Return the columns for one program and rival."""
    measured, use = each.measurement or one.measurement, one.use
    ratio = each.measurement.ratio if each.measurement else None
    rival_ns = each.measurement.reference_ns if each.measurement else None
    return {
        "program": one.subject.name,
        "level": one.level,
        "status": "failed" if one.why else "correct",
        "rival": each.name,
        "median_ns": measured.work_ns.value if measured else None,
        "p95_ns": one.compute_percentile(95),
        "p99_ns": one.compute_percentile(99),
        "rival_ns": rival_ns.value if rival_ns else None,
        "ratio": ratio.value if ratio else None,
        "ratio_low": ratio.low if ratio and ratio.is_bounded else None,
        "ratio_high": ratio.high if ratio and ratio.is_bounded else None,
        "verdict": each.measurement.verdict.value
        if each.measurement and each.measurement.verdict
        else None,
        "kernels_before": use.kernels_before if use else None,
        "kernels": use.kernels if use else None,
        "moved": use.moved if use else None,
        "flops": use.flops if use else None,
        "live_bytes": use.live_bytes if use else None,
        "why": one.why or each.why,
    }
