"""The table of a run: one line for each kernel, two in a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from metalbench.report import numbers, shown
from metalbench.report.marks import LAUNCH_BOUND
from metalbench.report.plain import plain_table
from metalbench.report.styles import QUIET, STATUS_STYLES, VERDICT_STYLES, WARNING
from metalbench.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.stats import Interval

RATIO = "MLX / kernel"
GPU_TIME = "GPU time"
BY_WALL = "by wall time"


def results_table(results: Sequence[Result], console: Console) -> Table:
    """Return the table: task, correct, both times, ratio and verdict, GFLOP/s, GB/s, stability.

    If one line for each kernel is too wide for `console`, intervals go below their estimates.
    """
    wide = _wide(results, terminal=console.is_terminal)
    unlimited = console.options.update(max_width=10 * console.width)
    fits = console.measure(wide, options=unlimited).maximum <= console.width
    return wide if fits else _narrow(results)


def _wide(results: Sequence[Result], *, terminal: bool) -> Table:
    table = plain_table(terminal=terminal)
    # A pipe always gets the same columns; a terminal only informative ones.
    with_dtype = not terminal or _several_dtypes(results)
    with_gpu, with_wall = _any_gpu_time(results), _any_by_wall(results)
    with_size = _several_sizes(results)
    spared = {
        "dtype": not with_dtype,
        "size": not with_size,
        GPU_TIME: not with_gpu,
        BY_WALL: not with_wall,
    }
    for name in ("task", "dtype", "size", "correct", "kernel", "MLX", RATIO, BY_WALL, GPU_TIME):
        if not spared.get(name):
            table.add_column(name, no_wrap=True)
    for name in ("GFLOP/s", "GB/s", "stability"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            result.case.task,
            *([result.case.dtype] if with_dtype else []),
            *([result.case.size] if with_size else []),
            _status(result),
            _time(result, 0, " "),
            _time(result, 1, " "),
            _ratio(result, verdict_last=True),
            *([_by_wall(result, "")] if with_wall else []),
            *([_time(result, 2, " ")] if with_gpu else []),
            *_rates(result),
        )
    return table


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
    for name in ("task\ncorrect", "kernel", "MLX"):
        table.add_column(name, no_wrap=True)
    table.add_column(RATIO)
    table.add_column("GFLOP/s\nGB/s", justify="right", no_wrap=True)
    with_gpu = _any_gpu_time(results)
    last = f"{GPU_TIME}\nstable" if with_gpu else "stable"
    table.add_column(last, justify="right", no_wrap=True)
    several, with_size = _several_dtypes(results), _several_sizes(results)
    for result in results:
        gflops, gbytes, stability = _rates(result)
        second = Text(f" {result.case.dtype}", style=QUIET) if several else Text()
        first = f"{result.case.task} {result.case.size}" if with_size else result.case.task
        table.add_row(
            Text(first + "\n") + _status(result) + second,
            _time(result, 0, "\n"),
            _time(result, 1, "\n"),
            _ratio(result, verdict_last=False)
            + (_by_wall(result, "\nwall ") if _any_by_wall(results) else Text()),
            gflops + Text("\n") + gbytes,
            _gpu_estimate(result) + Text("\n") + stability if with_gpu else stability,
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
    interval = (shown.kernel_time, shown.reference_time, shown.gpu_time)[side](measured)
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
    ratio = shown.ratio(measured) if measured is not None else None
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


def _rates(result: Result) -> tuple[Text, Text, Text]:
    """Return GFLOP/s, GB/s and stability."""
    measured, analysis = result.measurement, result.analysis
    if measured is None or analysis is None:
        return _dash(), _dash(), _dash()
    work = analysis.work
    return (
        Text(numbers.estimate(work.gflops)) if work.flops else _dash(),
        Text(numbers.estimate(work.gbytes_per_s)),
        Text(f"{measured.stability:.2f}"),
    )
