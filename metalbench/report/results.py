"""Text reports of results: failures, the table, and the summary of the suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.finding_kinds import Kind
from metalbench.measure.analysis import Analysis, Occupancy, Roofline, Target, roofline
from metalbench.measure.device_limits import OF_CACHE
from metalbench.measure.measurement import Measurement, TimingMode
from metalbench.report import numbers, summary
from metalbench.report.summary import discovery_line, explain_ends, summary_lines
from metalbench.report.terminal import (
    HEADING,
    QUIET,
    STATUS_STYLES,
    VERDICT_STYLES,
    WARNING,
    fits_width,
    plain_table,
)
from metalbench.report.warnings import (
    LAUNCH_BOUND,
    brief_mark_lines,
    brief_note_lines,
    brief_warning_lines,
    clock_notice,
    device_line,
    facts_text,
    format_marks,
    list_marks,
    list_warnings,
    modes_text,
    note_lines,
    simulation_notice,
    usual_times,
    warning_lines,
)
from metalbench.stats import CONFIDENCE
from metalbench.store.result import CountedBytes, Result, Status, format_tunables

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.measure.device_limits import Peaks
    from metalbench.stats import Interval


def failures(results: Sequence[Result]) -> Group:
    """Return every failure's stage and message, verbatim and in the order of the results."""
    return Group(*_blocks(results))


def _blocks(results: Sequence[Result]) -> Iterator[RenderableType]:
    for result in results:
        for failure in result.failures:
            title = Text(f"{result.case.task} ({result.case.dtype}): ", style=HEADING)
            title.append(result.status.value, style=STATUS_STYLES[result.status])
            title.append(f" at {failure.stage}")
            yield title
            yield Text(indent(failure.message, "  ") + "\n")
    if any(failure.kind in _OF_CHECKED_BUILDS for each in results for failure in each.failures):
        yield Text(
            "A run ends at the first fault. `metalbench check` shows all of them, with both places "
            "of a race.\n"
        )


# Kinds of faults of which a run shows the first one.
_OF_CHECKED_BUILDS = {
    str(each) for each in (Kind.OUT_OF_BOUNDS, Kind.RACE, Kind.UNINITIALISED, Kind.FAULT)
}

# The table of a run: one line for each kernel, two in a narrow terminal.

RATIO = "MLX / kernel"
GPU_TIME = "GPU time"
BY_WALL = "by wall time"


def results_table(results: Sequence[Result], console: Console) -> Table:
    """Return the table: task, correct, both times, ratio and verdict, GFLOP/s, GB/s.

    Columns with one value for all kernels are left out. If one line for each kernel is too wide
    for `console`, intervals go below their estimates.
    """
    wide = _wide(results, terminal=console.is_terminal)
    return wide if fits_width(wide, console) else _narrow(results)


def _wide(results: Sequence[Result], *, terminal: bool) -> Table:
    table = plain_table(terminal=terminal)
    cells: dict[str, Callable[[Result], str | Text]] = {
        "task": lambda result: result.case.task,
        "dtype": lambda result: result.case.dtype,
        "size": lambda result: result.case.size,
        "correct": _status,
        "kernel": lambda result: _time(result, 0, " "),
        "MLX": lambda result: _time(result, 1, " "),
        RATIO: lambda result: _ratio(result, verdict_last=True),
        BY_WALL: lambda result: _by_wall(result, ""),
        GPU_TIME: lambda result: _time(result, 2, " "),
    }
    with_column = {
        "dtype": _several_dtypes(results),
        "size": _several_sizes(results),
        "correct": not _all_correct(results),
        BY_WALL: _any_by_wall(results),
        GPU_TIME: _any_gpu_time(results),
    }
    shown = {name: cell for name, cell in cells.items() if with_column.get(name, True)}
    for name in shown:
        table.add_column(name, no_wrap=True)
    for name in ("GFLOP/s", "GB/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        table.add_row(*(cell(result) for cell in shown.values()), *_rates(result))
    return table


def _all_correct(results: Sequence[Result]) -> bool:
    return all(result.status is Status.CORRECT for result in results)


def _any_gpu_time(results: Sequence[Result]) -> bool:
    """Return whether a GPU's clock has times that the other columns lack."""
    return any(
        each.measurement and each.measurement.gpu_ns and each.measurement.clock == "wall time"
        for each in results
    )


def _any_by_wall(results: Sequence[Result]) -> bool:
    return any(each.measurement and each.measurement.by_wall for each in results)


def _several_dtypes(results: Sequence[Result]) -> bool:
    return len({result.case.dtype for result in results}) > 1


def _several_sizes(results: Sequence[Result]) -> bool:
    """Return whether some task was run at several sizes; tasks may differ in their sizes."""
    return len({(result.case.task, result.case.size) for result in results}) > len(
        {result.case.task for result in results}
    )


def _narrow(results: Sequence[Result]) -> Table:
    table = plain_table(terminal=True, gap=1)
    with_status, several = not _all_correct(results), _several_dtypes(results)
    below = "correct" if with_status else "dtype" if several else ""
    for name in (f"task\n{below}".rstrip(), "kernel", "MLX"):
        table.add_column(name, no_wrap=True)
    table.add_column(RATIO)
    table.add_column("GFLOP/s\nGB/s", justify="right", no_wrap=True)
    with_gpu = _any_gpu_time(results)
    if with_gpu:
        table.add_column(GPU_TIME, justify="right", no_wrap=True)
    with_size = _several_sizes(results)
    for result in results:
        gflops, gbytes = _rates(result)
        status = _status(result) if with_status else Text()
        dtype = Text(result.case.dtype, style=QUIET) if several else Text()
        first = f"{result.case.task} {result.case.size}" if with_size else result.case.task
        table.add_row(
            Text(first + "\n") + Text(" ").join(each for each in (status, dtype) if each),
            _time(result, 0, "\n"),
            _time(result, 1, "\n"),
            _ratio(result, verdict_last=False)
            + (_by_wall(result, "\nwall ") if _any_by_wall(results) else Text()),
            gflops + Text("\n") + gbytes,
            *([_gpu_estimate(result)] if with_gpu else []),
        )
    return table


def _status(result: Result) -> Text:
    return Text(result.status.value, style=STATUS_STYLES[result.status])


def _dash() -> Text:
    return Text(numbers.MISSING, style=QUIET)


def _time(result: Result, side: int, between: str) -> Text:
    """Return the time of the kernel (side 0), of MLX (1), or of the kernel by GPU clock (2)."""
    measured = result.measurement
    if measured is None:
        return _dash()
    interval = (measured.candidate_ns, measured.reference_ns, measured.gpu_ns)[side]
    return _dash() if interval is None else _quiet_ends(*numbers.in_time_unit(interval), between)


def _gpu_estimate(result: Result) -> Text:
    measured = result.measurement
    if measured is None or measured.gpu_ns is None:
        return _dash()
    interval, unit = numbers.in_time_unit(measured.gpu_ns)
    return Text(numbers.estimate(interval) + unit)


def _quiet_ends(interval: Interval, unit: str, between: str) -> Text:
    text = Text(numbers.estimate(interval) + unit)
    return text.append(between + numbers.ends(interval), style=QUIET)


def _ratio(result: Result, *, verdict_last: bool) -> Text:
    measured = result.measurement
    ratio = measured.ratio if measured is not None else None
    if measured is None or ratio is None or measured.verdict is None:
        return _dash()
    verdict = Text(f" {measured.verdict.value}", style=VERDICT_STYLES[measured.verdict])
    if measured.launch_bound:
        verdict.append(f" {LAUNCH_BOUND}", style=WARNING)
    if verdict_last:
        return _quiet_ends(ratio, "x", " ") + verdict
    first = Text(numbers.estimate(ratio) + "x") + verdict
    return first.append("\n" + numbers.ends(ratio), style=QUIET)


def _by_wall(result: Result, before: str) -> Text:
    """Return the ratio of wall times, if the verdict is of another clock."""
    by_wall = result.measurement.by_wall if result.measurement is not None else None
    if by_wall is None:
        return _dash() if not before else Text()
    return Text(before) + _quiet_ends(by_wall.ratio, "x", " ")


def _rates(result: Result) -> tuple[Text, Text]:
    """Return GFLOP/s and GB/s."""
    if result.measurement is None or result.analysis is None:
        return _dash(), _dash()
    work = result.analysis.work
    gflops = Text(numbers.estimate(work.gflops)) if work.flops else _dash()
    return gflops, Text(numbers.estimate(work.gbytes_per_s))


# The order of rows.

ORDERS = ("ratio", "name", "time", "run")


def sort_results(results: Sequence[Result], order: str) -> list[Result]:
    """Return the results in an order of `ORDERS`; `run` is the order in which kernels ran.

    Kernels without the value that orders, such as incorrect ones, are the last.
    """
    if order == "run":
        return list(results)
    if order == "name":
        return sorted(results, key=lambda each: (each.case.task, each.case.dtype))

    def find_place(result: Result) -> tuple[bool, float]:
        measured = result.measurement
        if measured is None:
            return True, 0.0
        if order == "time":
            return False, -measured.candidate_ns.value
        return (True, 0.0) if measured.ratio is None else (False, -measured.ratio.value)

    return sorted(results, key=find_place)


# The report on a run of several kernels.


def brief_report(results: Sequence[Result], seconds: float) -> Group:
    """Return only failures and summary."""
    wrong = [failures(results)] if any(result.failures for result in results) else []
    return Group(*wrong, *(Text(line) for line in summary_lines(results, seconds)))


def suite_report(
    results: Sequence[Result],
    console: Console,
    seconds: float,
    *,
    verbose: bool = False,
    order: str = "ratio",
) -> Group:
    """Return table, failures, warnings, notes and summary of at least one result, judged together.

    The summary is the last line: the part that is read first stands where the reader looks.
    Warnings and notes are one line for each kind, or with `verbose` their whole texts.
    """
    device = results[0].device
    blocks: list[RenderableType] = [results_table(sort_results(results, order), console), Text()]
    if any(result.failures for result in results):
        blocks.append(failures(results))
    # What makes a verdict or a time uncertain.
    warned = [
        *(format_marks(results) if verbose else brief_mark_lines(results)),
        *(warning_lines(results) if verbose else brief_warning_lines(results)),
        *(note_lines(results) if verbose else brief_note_lines(results)),
    ]
    hidden = [] if verbose or not warned else ["Figures, causes and remedies: -v, or NAME alone."]
    blocks += [Text(line, style=WARNING) for line in warned]
    blocks += [Text(line, style=QUIET) for line in hidden]
    blocks += [Text() for _ in warned[:1]]
    # What the figures mean.
    modes = {result.measurement.mode for result in results if result.measurement is not None}
    cold = " Inputs are cold: no cache holds them." if TimingMode.COLD in modes else ""
    meanings = (
        f"{_describe_common(results)} Times are medians of one pass with "
        f"{100 * CONFIDENCE:g} % intervals.{cold}",
        clock_notice(results),
        discovery_line(results),
        *_tunings(results),
        *explain_ends(results),
    )
    blocks += [Text(line, style=QUIET) for line in meanings if line]
    notice = simulation_notice(device)
    if notice:
        blocks.append(Text(notice, style=WARNING))
    blocks += [Text(), *(Text(line) for line in summary_lines(results, seconds))]
    return Group(*blocks)


def _describe_common(results: Sequence[Result]) -> str:
    """Return the device, sizes and element types, of which the table has no column."""
    sizes = ", ".join(dict.fromkeys(result.case.size for result in results if result.case.size))
    dtypes = ", ".join(dict.fromkeys(result.case.dtype for result in results))
    return f"Device: {device_line(results[0].device)}. Size: {sizes}. Element type: {dtypes}."


def _tunings(results: Sequence[Result]) -> Iterator[str]:
    """Yield the tunables of every kernel for which a search found them, and their origin."""
    for case in (result.case for result in results if result.case.tuning):
        yield f"{case.task}: {format_tunables(case.tunables)}: {case.tuning}."


# The full report on one kernel.

Rows = Iterator[tuple[str, str | Text]]
LABEL_WIDTH = 14
SCORE_UNITS = {
    Target.SPEED: "x MLX",
    Target.COMPUTE: "GFLOP/s",
    Target.MEMORY: "GB/s",
    Target.STABLE: "of 1",
    Target.BALANCED: "= 0.5 speed + 0.3 GFLOP/s / 1000 + 0.2 stability",
}


def full_report(result: Result, target: Target, machine_roof: str = "") -> Group:
    """Return the report on one kernel, with the score of `target` in the title.

    `machine_roof` is the roofline line of a simulation, from `describe_machine_roof`.
    """
    blocks: list[RenderableType] = [_title(result, target)]
    notice = simulation_notice(result.device)
    if notice:
        blocks.append(Text(notice, style=WARNING))
    blocks.append(_section("Kernel", _kernel(result)))
    if result.occupancy:
        blocks.append(_section("Occupancy", _occupancy(result.occupancy)))
    if result.checks:
        blocks.append(_section("Correctness", _correctness(result)))
    if result.notes:
        blocks.append(_section("Notes", (("note", Text(each, WARNING)) for each in result.notes)))
    if result.failures:
        blocks += [Text(), failures([result])]
    if result.measurement is not None and result.analysis is not None:
        blocks.append(_section("Time of one pass", _times(result, result.measurement)))
        doubts = list(_doubts(result.measurement))
        if doubts:
            blocks.append(_section("Doubts", iter(doubts)))
        blocks.append(_section("Throughput", _throughput(result, machine_roof)))
        blocks.append(_section("Scores", _scores(result.analysis, target)))
    if result.counted is not None:
        title = f"Bytes of one pass at the size {result.counted.size}"
        blocks.append(_section(title, _bytes(result.counted)))
    return Group(*blocks)


def _title(result: Result, target: Target) -> Text:
    title = Text(result.case.task, style=HEADING)
    title.append(f"  {result.status.value}", style=STATUS_STYLES[result.status])
    if result.analysis is not None:
        score = result.analysis.scores[target]
        unit = SCORE_UNITS[target].partition("=")[0].strip()
        if score is not None:
            title.append(f"  {target.value} {numbers.significant(score)} {unit}".rstrip())
    # A ratio without a certain difference must not look like a result.
    verdict = result.measurement.verdict if result.measurement is not None else None
    if target is Target.SPEED and verdict is not None:
        title.append(f"  {verdict.value}", style=VERDICT_STYLES[verdict])
    return title


def _section(name: str, rows: Rows) -> Group:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=LABEL_WIDTH, style=QUIET, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(f"  {label}", value)
    return Group(Text(), Text(name, style=HEADING), grid)


def _kernel(result: Result) -> Rows:
    case = result.case
    yield "task", case.description
    extents = ", ".join(f"{name} {extent}" for name, extent in case.sizes.items())
    yield "size", f"{case.size} ({extents}), {case.dtype}"
    yield "source", f"{case.kernel}, sha256 {case.source_hash[:12]}"
    if case.tunables:
        origin = f" ({case.tuning})" if case.tuning else ""
        yield "tuned", format_tunables(case.tunables) + origin
    yield "device", device_line(result.device)
    if result.state:
        yield "state", facts_text(result.state)


def _occupancy(dispatches: tuple[Occupancy, ...]) -> Rows:
    for each in dispatches:
        idle = f", {numbers.count(each.idle_lanes, 'idle lane')}" if each.idle_lanes else ""
        yield "dispatch", Text(each.pipeline, style=HEADING)
        yield "threadgroups", " x ".join(map(str, each.threadgroups))
        yield (
            "threads",
            f"{' x '.join(map(str, each.threads))} of at most {each.max_threads} a threadgroup: "
            f"{numbers.count(each.simdgroups, 'SIMD-group')}{idle}",
        )
        yield (
            "memory",
            f"{each.threadgroup_bytes} of {each.max_threadgroup_bytes} bytes of threadgroup memory",
        )


def _correctness(result: Result) -> Rows:
    checks = result.checks
    sizes = ", ".join(dict.fromkeys(check.size for check in checks))
    seeds = numbers.count(len({check.seed for check in checks}), "seed")
    passed = sum(check.passed for check in checks)
    yield "checks", f"{passed} of {len(checks)} passed: sizes {sizes}; {seeds}"
    worst = result.worst_check
    if worst is None:
        yield "comparison", "exact"
    else:
        assert worst.worst is not None
        share = f"{numbers.significant(100 * worst.worst)} % of the bound"
        if not math.isfinite(worst.worst):
            share = "beyond every bound"
        yield (
            "worst error",
            f"{share}: {worst.where} of size {worst.size}, seed {worst.seed}: {worst.message}",
        )


def _times(result: Result, measured: Measurement) -> Rows:
    yield "kernel", numbers.time(measured.candidate_ns)
    usual = usual_times(measured)
    if len(usual) > 1:
        yield "usual times", f"{modes_text(usual)} of the windows"
    if measured.reference_ns is not None:
        form = measured.reference_name or result.case.reference
        yield "MLX", f"{numbers.time(measured.reference_ns)}  ({form})"
    if measured.ratio is not None and measured.verdict is not None:
        text = Text(f"{numbers.ratio(measured.ratio)} ")
        yield "MLX / kernel", text.append(measured.verdict.value, VERDICT_STYLES[measured.verdict])
    yield from _forms(measured)
    yield from _other_clock(measured)
    clocks = clock_notice([result])
    if clocks is not None:
        yield "clocks", clocks
    yield (
        "stability",
        f"{measured.stability:.3f}: the central 90 % of the windows lie within "
        f"+-{100 * (1 - measured.stability):.0f} % of the median",
    )
    yield (
        "samples",
        f"{_windows(measured)} passes, worth {measured.effective_pairs:.0f} independent ones; "
        f"{numbers.count(measured.outliers, 'outlier')} kept; stopped: {measured.stopped.value}",
    )
    yield from _command_buffers(measured)
    yield from _conditions(measured)
    yield "intervals", f"{100 * CONFIDENCE:g} % confidence, of the median"
    yield from (("", line) for line in summary.explain_ends([result]))
    floor = Text(f"{numbers.short_time(measured.work_floor_ns)} for an empty kernel")
    if measured.launch_bound:
        floor.append(f" {LAUNCH_BOUND}", style=WARNING)
    yield "floor", floor


def _other_clock(measured: Measurement) -> Rows:
    """Yield times and ratio of the clock that is not that of the verdict."""
    by_wall = measured.by_wall
    if by_wall is not None:
        yield "by wall time", f"{numbers.ratio(by_wall.ratio)}  (MLX / kernel)"
        yield "", f"kernel {numbers.time(by_wall.candidate_ns)}"
        yield "", f"MLX {numbers.time(by_wall.reference_ns)}"
    elif measured.gpu_ns is not None and measured.clock == "wall time":
        yield "GPU time", numbers.time(measured.gpu_ns)


def _doubts(measured: Measurement) -> Rows:
    """Yield the reasons of a missing or weak verdict, then the warnings about times."""
    for mark, why in list_marks(measured):
        yield (
            "verdict" if measured.verdict and mark == measured.verdict.value else "time",
            Text(f"{mark}: {why}.", style=WARNING),
        )
    for doubt in list_warnings(measured):
        yield "warning", Text(str(doubt), style=WARNING)


def _forms(measured: Measurement) -> Rows:
    """Yield the forms of the reference that are not in the ratio."""
    for form in measured.forms:
        if not form.compared:
            yield "", f"{numbers.time(form.time_ns)}  ({form.name}) {form.fault}".rstrip()


def _conditions(measured: Measurement) -> Rows:
    """Yield the state of the caches, and the steadiness of the clock."""
    cold = "cold: each pass takes other copies of the inputs, which no cache holds"
    yield (
        "mode",
        cold if measured.mode is TimingMode.COLD else "warm: each pass takes the same buffers",
    )
    steadiness = measured.steadiness
    if steadiness.spread is not None:
        seen = f"a probe of it spread by {100 * steadiness.spread:.1f} %"
        if steadiness.retries:
            dropped = numbers.count(steadiness.discarded, "pair")
            seen += f"; {dropped} dropped in {numbers.count(steadiness.retries, 'rest')}"
        yield "clock speed", seen
    if measured.clock_ratio is not None:
        yield "", f"{numbers.ratio(measured.clock_ratio)}  (after the kernel / after MLX)"


def _command_buffers(measured: Measurement) -> Rows:
    """Yield the division of passes into command buffers, if the reference has a limit."""
    theirs = measured.samples.reference_passes_per_command_buffer
    if theirs:
        ours = measured.samples.passes_per_command_buffer
        yield (
            "commits",
            f"command buffers of at most {ours} of the kernel's passes, and of "
            f"{numbers.significant(theirs)} of MLX's on average",
        )


def _windows(measured: Measurement) -> str:
    passes = measured.samples.candidate_window
    if measured.reference_ns is None:
        return f"{numbers.count(measured.pairs, 'window')} of {passes}"
    pairs = numbers.count(measured.pairs, "pair")
    return f"{pairs} of windows of {passes} and {measured.samples.reference_window}"


def _throughput(result: Result, machine_roof: str) -> Rows:
    analysis, measured = result.analysis, result.measurement
    assert analysis is not None
    assert measured is not None
    work = analysis.work
    yield "compute", f"{numbers.with_interval(work.gflops)} GFLOP/s"
    yield "bandwidth", f"{numbers.with_interval(work.gbytes_per_s)} GB/s"
    yield (
        "intensity",
        f"{numbers.significant(work.intensity)} FLOP/byte ({numbers.quantity(work.flops, 'FLOP')}, "
        f"{numbers.size(work.bytes)})",
    )
    yield "roofline", machine_roof or _roofline(analysis.roofline)
    if measured.launch_share is not None:
        yield (
            "launches",
            f"{numbers.significant(100 * measured.launch_share)} % of the GPU time is what "
            "launching empty kernels takes, the gaps between dispatches among it; rates and "
            "roofline have it in them",
        )


def _bytes(counted: CountedBytes) -> Rows:
    """Yield the bytes that the source requests, and the task's minimum."""
    ratio = (
        "" if math.isnan(counted.ratio) else f", {numbers.significant(counted.ratio)} x declared"
    )
    yield "declared", f"{numbers.size(counted.declared)} must move at least"
    yield (
        "counted",
        f"{numbers.size(counted.read)} read, {numbers.size(counted.written)} written{ratio}: what "
        "threads request in the source",
    )
    yield (
        "touched",
        f"{numbers.size(counted.unique_read)} read, {numbers.size(counted.unique_written)} written "
        "at least once in a dispatch",
    )
    if not counted.timed:
        yield "size", f"{counted.size}: counting at the timed size takes too long"


def _roofline(found: Roofline) -> str | Text:
    if not found.valid:
        return Text(f"invalid: {found.reason}", style="bold red")
    if found.fraction is None:
        return found.reason
    return f"{found.bound}-bound, at {100 * found.fraction:.0f} % of it ({found.reason})"


def describe_machine_roof(result: Result, peaks: Peaks, cache_bytes: int) -> str:
    """Return the position of a simulated kernel under the roof of this machine, as on the page.

    A pass moves `result.analysis.work.bytes`. If they may stay in the last-level cache of
    `cache_bytes`, the cache's rate is the slope. Return an empty string without a time.
    """
    if result.analysis is None or result.measurement is None:
        return ""
    work = result.analysis.work
    from_memory = result.measurement.mode is TimingMode.COLD or (
        peaks.cache_gbytes_per_s is None or work.bytes >= OF_CACHE * cache_bytes
    )
    rate = peaks.gbytes_per_s if from_memory else peaks.cache_gbytes_per_s
    assert rate is not None
    place = "memory" if from_memory else "the last-level cache"
    found = roofline(result.measurement.work_ns, work, replace(peaks, gbytes_per_s=rate), "")
    if found.bound == "memory":
        limit = f"{numbers.significant(rate)} GB/s of copies in {place}"
    else:
        limit = f"{numbers.significant(peaks.gflops)} GFLOP/s of multiply-adds in float32"
    if not found.valid:
        return (
            f"{found.bound}-bound, above {limit}: data stayed in faster caches, or the work is "
            f"less than declared ({peaks.source})"
        )
    assert found.fraction is not None
    share = f"{numbers.significant(100 * found.fraction)} %"
    return f"{found.bound}-bound, at {share} of {limit} (measured on this machine)"


def _scores(analysis: Analysis, target: Target) -> Rows:
    for each in Target:
        score = analysis.scores[each]
        value = "-" if score is None else numbers.significant(score)
        text = Text(f"{value} {SCORE_UNITS[each]}".strip(), style=HEADING if each is target else "")
        yield each.value, text
