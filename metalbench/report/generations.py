"""Tables of generated kernels: shares, fast_p, pass@k and classes of failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.comparison import ALL, FolderFigures
from metalbench.kernelbench.metrics import AtK, EvaluatedSample, FastShare, Figures
from metalbench.report import numbers
from metalbench.report.chart import COLOURS, Axis, Curve, Key, Plot, Point, trace_steps, write_svg
from metalbench.report.export import write_csv
from metalbench.report.terminal import HEADING, QUIET, WARNING, break_before_detail, fits_width
from metalbench.safe_text import cut_line, json_text
from metalbench.stats import CONFIDENCE, Interval
from metalbench.store.history import Evaluation

CSV_HEAD = (
    *("run", "level", "figure", "p", "k", "value", "low", "high", "naive"),
    *("device", "dtype", "sizes"),
)
Cell = Callable[[Figures], str]
# Characters of a message in a line. The likely cause is at the end of a message.
LONGEST_MESSAGE = 500


def comparison_report(columns: Sequence[FolderFigures], baseline: str) -> Group:
    """Return the tables of every level, with one column a folder, and the definitions."""
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    blocks: list[RenderableType] = []
    for level in levels:
        blocks += [_table(level, columns), Text()]
    blocks += [Text(line, style=QUIET) for line in explain_figures(baseline)]
    blocks += [Text(line, style=WARNING) for line in list_doubts(columns)]
    for name in dict.fromkeys(each.device for each in columns if "simulated" in each.device):
        blocks.append(Text(f"{name}: host times of a simulation, not of a GPU.", style=WARNING))
    return Group(*blocks)


def share(interval: Interval) -> str:
    """Return ``0.55 [0.32, 0.76]``; with ``(no interval)`` for too few problems."""
    if not interval.is_bounded:
        return f"{interval.value:.3f} {numbers.UNCARRIED}"
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def to_json(columns: Sequence[FolderFigures], baseline: str) -> str:
    """Return all figures as JSON, with the keys of KernelBench's analysis where it has the same."""
    told = [
        {
            "run": each.name,
            "device": each.device,
            "dtype": each.dtype or None,
            "sizes": list(each.sizes),
            "not_evaluated": each.unevaluated,
            **_levels(each),
        }
        for each in columns
    ]
    return (
        json_text({"baseline": baseline, "confidence": CONFIDENCE, "runs": told}, indent=2) + "\n"
    )


def to_csv(columns: Sequence[FolderFigures]) -> str:
    """Return one row a figure."""
    rows = (
        (column.name, level, *row, column.device, column.dtype, " ".join(column.sizes))
        for column in columns
        for level, figures in column.levels.items()
        for row in _rows(figures)
    )
    return write_csv(CSV_HEAD, (dict(zip(CSV_HEAD, row, strict=True)) for row in rows))


def _table(level: str, columns: Sequence[FolderFigures]) -> Table:
    shown = [(each, each.levels[level]) for each in columns if level in each.levels]
    table = Table(title=level, title_justify="left", box=None, pad_edge=False)
    table.add_column("figure")
    for column, _ in shown:
        table.add_column(f"{column.name} ({column.conditions})")
    for name, cell in figure_lines(shown[0][1], [figures for _, figures in shown]):
        table.add_row(name, *(cell(figures) for _, figures in shown))
    return table


def figure_lines(first: Figures, all_: Sequence[Figures]) -> Iterator[tuple[str, Cell]]:
    """Yield the name of each line of a table of figures, and the function of its cells."""
    yield "problems, samples", lambda of: f"{of.problems}, {of.samples}"
    yield "compiled", lambda of: share(of.compiled)
    yield "correct", lambda of: share(of.correct)
    for place, fast in enumerate(first.fast):
        yield f"fast_{fast.p:g}", lambda of, i=place: _fast(of.fast[i])  # type: ignore[misc]
    yield "mean ratio", lambda of: numbers.ratio(of.mean_ratio)
    for place, at in enumerate(first.at_k):
        yield name_metric(at), lambda of, i=place: share(of.at_k[i].share)  # type: ignore[misc]
    for outcome in GenerationOutcome:
        if any(each.outcomes.get(outcome) for each in all_):
            yield f"  {outcome}", lambda of, o=outcome: str(of.outcomes.get(o, 0))  # type: ignore[misc]


def name_metric(at: AtK) -> str:
    """Return ``pass@4`` or ``fast_1.5@4``."""
    return f"pass@{at.k}" if at.p is None else f"fast_{at.p:g}@{at.k}"


def _fast(fast: FastShare) -> str:
    return f"{share(fast.certain)}, naive {fast.naive.value:.3f}"


def explain_figures(baseline: str) -> Iterator[str]:
    """Yield the definitions of the figures, line by line."""
    percent = f"{100 * CONFIDENCE:g} %"
    against = "MLX's fastest form" if baseline == "compared" else f"MLX's form `{baseline}`"
    yield f"fast_p: correct, and the lower end of (time of {against}) / (its time) is above p;"
    yield "naive: the ratio itself is. Shares, fast_p and the mean are of each problem's sample 0,"
    yield f"with {percent} intervals by Wilson; @k is of all samples, by a bootstrap over problems."
    yield "The mean is geometric, of the correct ones' ratios. Indented: all samples by class."


def list_doubts(columns: Sequence[FolderFigures]) -> Iterator[str]:
    """Yield the reasons why the figures of some runs may mislead, or may not compare."""
    for column in columns:
        if column.unevaluated:
            samples = numbers.count(column.unevaluated, "sample")
            verb = "is" if column.unevaluated == 1 else "are"
            yield (
                f"{column.name}: the evaluation is partial: {samples} {verb} in the folder and not "
                f"evaluated, and count as failed. `metalbench evaluate` evaluates them."
            )
    if len({(each.dtype, each.sizes) for each in columns if each.sizes}) > 1:
        yield "The runs were evaluated at different sizes or element types."


def _rows(of: Figures) -> Iterator[tuple[Any, ...]]:
    yield ("problems", "", "", of.problems, "", "", "")
    yield ("compiled", "", "", *_ends(of.compiled), "")
    yield ("correct", "", "", *_ends(of.correct), "")
    for fast in of.fast:
        yield ("fast_p", fast.p, "", *_ends(fast.certain), fast.naive.value)
    if of.mean_ratio is not None:
        yield ("mean ratio", "", "", *_ends(of.mean_ratio), "")
    for at in of.at_k:
        figure, p = ("pass@k", "") if at.p is None else ("fast_p@k", at.p)
        yield (figure, p, at.k, *_ends(at.share), "")
    for outcome, count in of.outcomes.items():
        yield (f"class: {outcome}", "", "", count, "", "", "")


def _ends(interval: Interval) -> tuple[Any, Any, Any]:
    if not interval.is_bounded:
        return interval.value, "", ""
    return interval.value, interval.low, interval.high


def _levels(column: FolderFigures) -> dict[str, Any]:
    return {"levels": {level: _as_json(each) for level, each in column.levels.items()}}


def _as_json(of: Figures) -> dict[str, Any]:
    return {
        "total_count": of.problems,
        "samples": of.samples,
        "compilation_rate": _interval(of.compiled),
        "correctness_rate": _interval(of.correct),
        "geo_mean_speedup": None if of.mean_ratio is None else _interval(of.mean_ratio),
        "correct_without_ratio": of.without_ratio,
        "correct_without_own_kernel": of.outcomes.get(GenerationOutcome.NOT_OWN, 0),
        "fast_p": [
            {"p": each.p, **_interval(each.certain), "naive": _interval(each.naive)}
            for each in of.fast
        ],
        "at_k": [{"k": each.k, "p": each.p, **_interval(each.share)} for each in of.at_k],
        "classes": {outcome.value: count for outcome, count in of.outcomes.items()},
        "curve": [{"p": p, **_interval(each)} for p, each in of.curve],
    }


def _interval(interval: Interval) -> dict[str, float | None]:
    numbers_ = (interval.value, interval.low, interval.high)
    ends = [each if math.isfinite(each) else None for each in numbers_]
    return dict(zip(("value", "low", "high"), ends, strict=True))


# The samples of a folder, one line each.

SAMPLE_COLUMNS = (
    *("level", "problem", "sample", "task", "outcome", "ratio", "ratio_low", "ratio_high"),
    *("kernel_ns", "kernel_ns_low", "kernel_ns_high", "size", "dtype", "device", "message"),
)


def tabulate_samples(evaluations: Sequence[Evaluation], console: Console) -> Group:
    """Return a table with the outcome of each sample, its ratio and time, and its first failure.

    If one line for each sample is too wide for `console`, failures are listed below the table.
    """
    wide = _make_sample_table(evaluations, narrow=False)
    if fits_width(wide, console):
        return Group(wide)
    failures = [each for each in evaluations if each.message]
    blocks: list[Table | Text] = [_make_sample_table(evaluations, narrow=True)]
    if failures:
        blocks.append(Text())
    for each in failures:
        line = Text(f"{_name_sample(each)}: ", style=HEADING)
        blocks.append(line.append(cut_line(each.message, LONGEST_MESSAGE), style="not bold"))
    return Group(*blocks)


def _name_sample(each: Evaluation) -> str:
    return f"{each.place.level}/{each.place.problem}/{each.place.sample}"


def _make_sample_table(evaluations: Sequence[Evaluation], *, narrow: bool) -> Table:
    """Return the table; a `narrow` one has no messages, and two lines for each sample."""
    last = () if narrow else ("message",)
    table = Table(box=None, pad_edge=False)
    names = ("sample",) if narrow else ("sample", "task")
    for name in (*names, "outcome", "MLX / kernel", "kernel", *last):
        table.add_column(name, overflow="fold")
    for each in evaluations:
        is_correct = each.outcome == GenerationOutcome.CORRECT.value
        first = [_name_sample(each), each.task]
        times = [Text(numbers.ratio(each.ratio)), Text(numbers.time(each.kernel_ns))]
        if narrow:
            first = ["\n".join(first)]
            times = [break_before_detail(cell) for cell in times]
        message = () if narrow else (Text(cut_line(each.message, LONGEST_MESSAGE)),)
        outcome = Text(each.outcome, style="" if is_correct else WARNING)
        table.add_row(*map(Text, first), outcome, *times, *message)
    return table


def samples_to_csv(evaluations: Sequence[Evaluation]) -> str:
    """Return one row a sample, with its whole message."""
    return write_csv(SAMPLE_COLUMNS, map(_sample_row, evaluations))


def samples_to_json(evaluations: Sequence[Evaluation]) -> str:
    """Return a list with one object a sample, with the keys of the CSV."""
    return json_text([_sample_row(each) for each in evaluations], indent=2) + "\n"


def _sample_row(each: Evaluation) -> dict[str, Any]:
    place = each.place
    row = {
        "level": place.level,
        "problem": place.problem,
        "sample": place.sample,
        "task": each.task,
        "outcome": each.outcome,
        "size": each.size,
        "dtype": each.dtype,
        "device": f"{each.device_kind} ({each.device_name})",
        "message": each.message,
    }
    for name, interval in (("ratio", each.ratio), ("kernel_ns", each.kernel_ns)):
        ends = ("", "_low", "_high")
        values = (None,) * 3 if interval is None else tuple(_interval(interval).values())
        row |= {f"{name}{end}": value for end, value in zip(ends, values, strict=True)}
    return row


# The problems of a level, one line each.


@dataclass(frozen=True)
class ProblemCell:
    """The samples of one problem in one folder.

    `outcome` and `ratio` are of sample 0, `correct` is the number of all that are, and `message` is
    the first failure of sample 0.
    """

    outcome: str
    ratio: Interval | None
    correct: int
    samples: int
    message: str

    @property
    def is_correct(self) -> bool:
        """Whether sample 0 is correct."""
        return self.outcome == GenerationOutcome.CORRECT.value


@dataclass(frozen=True)
class ProblemLine:
    """One problem: its level and number, its task if known, and a cell for each folder."""

    level: str
    number: int
    task: str
    cells: Sequence[ProblemCell | None]


def list_problems(columns: Sequence[FolderFigures], level: str) -> list[ProblemLine]:
    """Return a line for each problem of a level; a folder without the problem has the cell None."""
    keys = dict.fromkeys(
        key for column in columns for key in column.problems if level in (ALL, key[0])
    )
    lines = []
    for key in sorted(keys):
        found = [column.problems.get(key) for column in columns]
        tasks = (sample.task for samples in found for sample in samples or () if sample.task)
        lines.append(ProblemLine(*key, next(tasks, ""), [_problem_cell(each) for each in found]))
    return lines


def _problem_cell(samples: Sequence[EvaluatedSample] | None) -> ProblemCell | None:
    if not samples:
        return None
    first = samples[0]
    correct = sum(each.is_fast(0.0) for each in samples)
    message = cut_line(first.message, LONGEST_MESSAGE)
    return ProblemCell(first.outcome.value, first.ratio, correct, len(samples), message)


# Plot the curves of fast_p over p, one for each folder of generations.


def fast_p_plot(columns: Sequence[FolderFigures], level: str, heading: str = "") -> Plot:
    """Return a plot with one curve a column: the share of problems more than p times as fast.

    Sample 0 of a problem counts, as in the table: the curve begins at fast_0.
    """
    curves, legend = [], []
    runs = [each for each in columns if level in each.levels]
    for place, run in enumerate(runs):
        shares, colour = run.levels[level].curve, f"line-{place % COLOURS}"
        band: list[Point] = []
        if all(share.is_bounded for _, share in shares):
            upper = trace_steps([(p, share.high) for p, share in shares])
            lower = trace_steps([(p, share.low) for p, share in shares])
            band = [*upper, *lower[::-1]]
        points = trace_steps([(p, share.value) for p, share in shares])
        title = f"{run.name}: fast_0 is {shares[0][1].value:.3f}"
        curves.append(Curve(points, colour, title, band))
        legend.append(Key(run.name, colour, is_curve=True))
    most = max(p for run in runs for p, _ in run.levels[level].curve)
    return Plot(
        f"fast_p of {level} over p",
        Axis.over_range("p: times as fast as MLX", 0.0, most),
        Axis.over_range("fast_p: share of problems", 0.0, 1.0),
        curves=curves,
        legend=legend,
        heading=heading,
        height=348,
        left=76,
        right=24,
        top=36 if heading else 16,
    )


def draw(columns: Sequence[FolderFigures], path: Path) -> None:
    """Write an SVG file with one plot a level, with interval bands. Raise as `write_svg`."""
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    row = [
        fast_p_plot(columns, level, f"{level}: fast_p of each problem's sample 0")
        for level in levels
    ]
    write_svg(path, [row], f"bands: {100 * CONFIDENCE:g} % intervals by Wilson")
