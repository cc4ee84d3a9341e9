"""Reports of a sweep: a table by extents, a picture of times and ratios, and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metalbench.report import numbers
from metalbench.report.chart import COLOURS, Axis, Curve, Dot, Key, Plot
from metalbench.report.export import write_csv
from metalbench.report.terminal import (
    STATUS_STYLES,
    VERDICT_STYLES,
    break_before_detail,
    fits_width,
    plain_table,
)
from metalbench.run.sweep import SweepAxis
from metalbench.stats import Interval
from metalbench.store.result import Result, Status

INTERVALS = ("kernel_ns", "reference_ns", "ratio", "gflops", "gbytes_per_s")


@dataclass(frozen=True)
class SweepReport:
    """The results of a sweep over `axes`, one for each size, in the order of the sizes."""

    task: str
    dtype: str
    axes: Sequence[SweepAxis]
    results: Sequence[Result]

    def table(self, console: Console) -> Table:
        """Return a line for each size: the swept extents, both times, ratio and rates.

        If it is too wide for `console`, intervals and verdicts go below their estimates.
        """
        wide = self._fill_table(terminal=console.is_terminal, narrow=False)
        if fits_width(wide, console):
            return wide
        return self._fill_table(terminal=console.is_terminal, narrow=True)

    def _fill_table(self, *, terminal: bool, narrow: bool) -> Table:
        table = plain_table(terminal=terminal)
        for each in self.axes:
            table.add_column(each.name, justify="right", no_wrap=True)
        for name in ("kernel", "MLX", "MLX / kernel"):
            table.add_column(name, no_wrap=True)
        for name in ("GFLOP/s", "GB/s"):
            table.add_column(name, justify="right", no_wrap=True)
        for result in self.results:
            extents = [str(result.case.sizes[each.name]) for each in self.axes]
            cells = _cells(result)
            table.add_row(*extents, *(map(break_before_detail, cells) if narrow else cells))
        return table

    def plots(self) -> list[list[Plot]]:
        """Return plots over the first extent: times of a single series, and ratios of all."""
        series = list(self._series().items())
        if not any(points for _, points in series):
            return []
        plots = [[self._plot_ratios(series)]]
        if len(series) == 1:
            plots.insert(0, [self._plot_times(series[0][1])])
        return plots

    def _series(self) -> dict[str, list[Result]]:
        """Return the timed results by the values of all extents but the first."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            rest = (f"{each.name} = {result.case.sizes[each.name]}" for each in self.axes[1:])
            timed = found.setdefault(", ".join(rest), [])
            if result.measurement is not None and result.measurement.ratio is not None:
                timed.append(result)
        return found

    def _plot_times(self, results: Sequence[Result]) -> Plot:
        times: dict[str, list[tuple[int, Interval]]] = {"kernel": [], "MLX": []}
        for result in results:
            measured = result.measurement
            if measured is not None and measured.reference_ns is not None:
                place = result.case.sizes[self.axes[0].name]
                times["kernel"].append((place, measured.candidate_ns))
                times["MLX"].append((place, measured.reference_ns))
        values = [each.value / 1e3 for points in times.values() for _, each in points]
        return self._plot(
            f"Time of a pass of {self.task} ({self.dtype})",
            Axis.over_decades("time of a pass, us", values),
            {
                name: [(place, each.scale(1e-3)) for place, each in points]
                for name, points in times.items()
            },
        )

    def _plot_ratios(self, series: Sequence[tuple[str, Sequence[Result]]]) -> Plot:
        ratios: dict[str, list[tuple[int, Interval]]] = {}
        for name, results in series[:COLOURS]:
            points = ratios.setdefault(name or "MLX / kernel", [])
            for result in results:
                measured = result.measurement
                if measured is not None and measured.ratio is not None:
                    points.append((result.case.sizes[self.axes[0].name], measured.ratio))
        values = [each.value for points in ratios.values() for _, each in points]
        return self._plot(
            f"MLX / kernel of {self.task} ({self.dtype}): above 1 the kernel is faster",
            Axis.over_decades("MLX / kernel", [*values, 1.0]),
            ratios,
        )

    def _plot(self, title: str, up: Axis, series: dict[str, list[tuple[int, Interval]]]) -> Plot:
        across = self._across()
        curves, dots, legend = [], [], []
        for index, (name, points) in enumerate(series.items()):
            style = f"line-{index}"
            line = [(float(place), each.value) for place, each in points]
            curves.append(Curve(line, style, title=name, band=_band(points)))
            dots += [Dot(x, y, style, radius=3) for x, y in line]
            legend.append(Key(name, style, is_curve=True))
        return Plot(
            title, across, up, curves=curves, dots=dots, legend=legend, heading=title, top=36
        )

    def _across(self) -> Axis:
        axis = self.axes[0]
        values = axis.values
        if axis.is_geometric:
            step = max(1, len(values) // 10)
            ticks = [(float(each), str(each)) for each in values[::step]]
            ends = float(values[0]), float(values[-1])
            return Axis(axis.name, *ends, ticks, is_logarithmic=True)
        if values[0] == values[-1]:
            return Axis(axis.name, values[0] - 1.0, values[0] + 1.0, [(values[0], str(values[0]))])
        return Axis.over_range(axis.name, float(values[0]), float(values[-1]))


def _band(points: Sequence[tuple[int, Interval]]) -> list[tuple[float, float]]:
    """Return the corners of the area between the ends of the intervals, where all have both."""
    ends = [(float(place), *each.useful_ends) for place, each in points]
    lower = [(place, low) for place, low, _ in ends if low is not None]
    upper = [(place, high) for place, _, high in ends if high is not None]
    return [*lower, *reversed(upper)] if len(lower) == len(upper) == len(ends) else []


def to_csv(report: SweepReport) -> str:
    """Return a line for each size: task, dtype, swept extents, status, and intervals in columns."""
    extents = [each.name for each in report.axes]
    columns = (
        *("task", "dtype", *extents, "status", "verdict"),
        *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high")),
    )
    return write_csv(columns, (_row(report, each) for each in report.results))


def _row(report: SweepReport, result: Result) -> dict[str, object]:
    measured, analysis = result.measurement, result.analysis
    work = analysis.work if analysis is not None else None
    row: dict[str, object] = {
        "task": report.task,
        "dtype": report.dtype,
        **{each.name: result.case.sizes[each.name] for each in report.axes},
        "status": result.status.value,
        "verdict": measured.verdict.value if measured and measured.verdict else None,
    }
    intervals = (
        measured.candidate_ns if measured else None,
        measured.reference_ns if measured else None,
        measured.ratio if measured else None,
        work.gflops if work else None,
        work.gbytes_per_s if work else None,
    )
    for name, interval in zip(INTERVALS, intervals, strict=True):
        low, high = interval.useful_ends if interval is not None else (None, None)
        row[name] = interval.value if interval is not None else None
        row[f"{name}_low"], row[f"{name}_high"] = low, high
    return row


def _cells(result: Result) -> tuple[str | Text, ...]:
    measured, analysis = result.measurement, result.analysis
    if measured is None or analysis is None:
        style = STATUS_STYLES.get(result.status, STATUS_STYLES[Status.FAILED])
        return Text(result.status.value, style=style), *[numbers.MISSING] * 4
    ratio = Text(numbers.ratio(measured.ratio))
    if measured.verdict is not None:
        ratio.append(f" {measured.verdict.value}", style=VERDICT_STYLES[measured.verdict])
    work = analysis.work
    return (
        numbers.time(measured.candidate_ns),
        numbers.time(measured.reference_ns),
        ratio,
        numbers.estimate(work.gflops) if work.flops else numbers.MISSING,
        numbers.estimate(work.gbytes_per_s),
    )
