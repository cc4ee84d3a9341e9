"""The full report on one kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.analysis import Analysis, Occupancy, Roofline, Target
from metalbench.measure import Measurement, Mode
from metalbench.report import numbers, shown
from metalbench.report.facts import facts_text
from metalbench.report.failures import failures
from metalbench.report.marks import LAUNCH_BOUND, list_marks
from metalbench.report.notice import clock_notice, device_line, simulation_notice
from metalbench.report.styles import HEADING, QUIET, STATUS_STYLES, VERDICT_STYLES, WARNING
from metalbench.report.warnings import list_warnings, modes_text, usual_times
from metalbench.result import Result
from metalbench.result.counted import CountedBytes
from metalbench.result.tuning import format_tunables
from metalbench.stats import CONFIDENCE

Rows = Iterator[tuple[str, str | Text]]
LABEL_WIDTH = 14
SCORE_UNITS = {
    Target.SPEED: "x MLX",
    Target.COMPUTE: "GFLOP/s",
    Target.MEMORY: "GB/s",
    Target.STABLE: "of 1",
    Target.BALANCED: "= 0.5 speed + 0.3 GFLOP/s / 1000 + 0.2 stability",
}


def full_report(result: Result, target: Target) -> Group:
    """Return the report on one kernel, with the score of `target` in the title."""
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
        blocks.append(_section("Throughput", _throughput(result.analysis, result.measurement)))
        blocks.append(_section("Scores", _scores(result.analysis, target)))
    if result.counted is not None:
        blocks.append(_section("Bytes of one pass", _bytes(result.counted)))
    return Group(*blocks)


def _title(result: Result, target: Target) -> Text:
    title = Text(result.case.task, style=HEADING)
    title.append(f"  {result.status.value}", style=STATUS_STYLES[result.status])
    if result.analysis is not None:
        score = result.analysis.scores[target]
        unit = SCORE_UNITS[target].partition("=")[0].strip()
        if score is not None:
            title.append(f"  {target.value} {numbers.significant(score)} {unit}".rstrip())
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
    yield "kernel", numbers.time(shown.kernel_time(measured))
    usual = usual_times(measured)
    if len(usual) > 1:
        yield "usual times", f"{modes_text(usual)} of the windows"
    if measured.reference_ns is not None:
        form = measured.reference_name or result.case.reference
        yield "MLX", f"{numbers.time(shown.reference_time(measured))}  ({form})"
    if measured.ratio is not None and measured.verdict is not None:
        text = Text(f"{numbers.ratio(shown.ratio(measured))} ")
        yield "MLX / kernel", text.append(measured.verdict.value, VERDICT_STYLES[measured.verdict])
    yield from _forms(measured)
    yield from _other_clock(measured)
    clocks = clock_notice([result])
    if clocks is not None:
        yield "clocks", clocks
    yield "stability", f"{measured.stability:.3f}"
    yield (
        "samples",
        f"{_windows(measured)} passes, worth {measured.effective_pairs:.0f} independent ones; "
        f"{numbers.count(measured.outliers, 'outlier')} kept; stopped: {measured.stopped.value}",
    )
    yield from _command_buffers(measured)
    yield from _conditions(measured)
    yield "intervals", f"{100 * CONFIDENCE:g} % confidence, of the median"
    yield from (("", line) for line in shown.explain_ends([result]))
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
        yield "GPU time", numbers.time(shown.gpu_time(measured))


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
    yield "mode", cold if measured.mode is Mode.COLD else "warm: each pass takes the same buffers"
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


def _throughput(analysis: Analysis, measured: Measurement) -> Rows:
    work = analysis.work
    yield "compute", f"{numbers.with_interval(work.gflops)} GFLOP/s"
    yield "bandwidth", f"{numbers.with_interval(work.gbytes_per_s)} GB/s"
    yield (
        "intensity",
        f"{numbers.significant(work.intensity)} FLOP/byte ({numbers.quantity(work.flops, 'FLOP')}, "
        f"{numbers.size(work.bytes)})",
    )
    yield "roofline", _roofline(analysis.roofline)
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
    why = "that was timed" if counted.timed else f"{counted.size}, for the timed one takes too long"
    yield "declared", f"{numbers.size(counted.declared)} must move at least"
    yield (
        "counted",
        f"{numbers.size(counted.read)} read, {numbers.size(counted.written)} written{ratio}: what "
        f"threads ask for, in the source, at the size {why}",
    )
    yield (
        "touched",
        f"{numbers.size(counted.unique_read)} read, {numbers.size(counted.unique_written)} written "
        "at least once in a dispatch",
    )


def _roofline(roofline: Roofline) -> str | Text:
    if not roofline.valid:
        return Text(f"invalid: {roofline.reason}", style="bold red")
    if roofline.fraction is None:
        return roofline.reason
    return f"{roofline.bound}-bound, at {100 * roofline.fraction:.0f} % of it ({roofline.reason})"


def _scores(analysis: Analysis, target: Target) -> Rows:
    for each in Target:
        score = analysis.scores[each]
        value = "-" if score is None else numbers.significant(score)
        text = Text(f"{value} {SCORE_UNITS[each]}".strip(), style=HEADING if each is target else "")
        yield each.value, text
