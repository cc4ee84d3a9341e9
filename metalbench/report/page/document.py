"""HTML documents: one file without external resources, restricted to its own script."""

from __future__ import annotations

import base64
import hashlib
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from metalbench.kernelbench.comparison import FolderFigures
from metalbench.measure.analysis import UNKNOWN_PEAKS
from metalbench.report import numbers
from metalbench.report.chart import Axis, Curve, Dot, Plot
from metalbench.report.generations import (
    explain_figures,
    fast_p_plot,
    figure_lines,
    list_doubts,
    list_problems,
)
from metalbench.report.history import revision_text
from metalbench.report.page.model import Board, KernelRow, Page, PastResult
from metalbench.report.page.roofline import MARKS, explain_peaks, roofline_plot
from metalbench.report.page.source import Header, separate_headers, split_source
from metalbench.report.render import read_asset, render_template
from metalbench.report.warnings import CLOCKS, SIMULATION, device_line, simulation_notice
from metalbench.stats import CONFIDENCE, Interval
from metalbench.store.result import format_tunables

# The cells of each column of a board, with the keys that they are sorted by.
INTERVALS: dict[str, Callable[[KernelRow], Interval | None]] = {
    "kernel": lambda row: row.time_ns,
    "MLX": lambda row: row.reference_ns,
    "MLX / kernel": lambda row: row.ratio,
    "GFLOP/s": lambda row: row.gflops if row.gflops and row.gflops.value else None,
    "GB/s": lambda row: row.gbytes_per_s,
}
OTHERS: dict[str, Callable[[KernelRow], str | int]] = {
    "task": lambda row: row.task,
    "set": lambda row: row.set,
    "dtype": lambda row: row.dtype,
    "size": lambda row: row.size,
    "correct": lambda row: row.status,
    "since": lambda row: row.history[0].accepted_at,
    "by": lambda row: row.history[0].origin,
    "records": lambda row: len(row.history),
}


def to_html(page: Page) -> str:
    """Return the page as one HTML file, with its style and script."""
    clocks = {row.clock for board in page.boards for row in board.rows if row.clock}
    meanings = [f"{clock}: {CLOCKS[clock]}" for clock in sorted(clocks) if clock in CLOCKS]
    notes = (
        "MLX / kernel is the time of MLX over that of the kernel: above 1 the kernel is faster.",
        f"[low, high] is an interval of {100 * CONFIDENCE:g} % confidence.",
        *meanings,
    )
    return _render(
        "kernels.html",
        title=page.title,
        lead=page.lead,
        facts=page.facts,
        notes=notes,
        headers=[(each, split_source(each.text)) for each in _list_headers(page)],
        boards=[_board(board, number) for number, board in enumerate(page.boards)],
        marks=MARKS,
        number_columns=(*INTERVALS, "records"),
    )


def page_of_generations(columns: Sequence[FolderFigures], baseline: str) -> str:
    """Return a page of generated kernels: tables and curves of every level, one column a run."""
    simulated = any("simulated" in each.device for each in columns)
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    return _render(
        "generations.html",
        title="Generated kernels",
        facts=(),
        lead="Shares of kernels that compile, are correct and are fast: "
        + ", ".join(each.name for each in columns),
        notes=(" ".join(explain_figures(baseline)), *list_doubts(columns)),
        simulation=SIMULATION if simulated else None,
        levels=[_level(columns, level) for level in levels],
        caption="Each problem's sample 0 counts, as in the table. "
        f"Bands are {100 * CONFIDENCE:g} % intervals by Wilson.",
    )


def _render(template: str, **content: Any) -> str:
    """Return a page with the style and script of all pages, and a policy that allows only these."""
    style = read_asset("chart.css") + read_asset("page.css")
    script = read_asset("page.js")
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        for each in (style, script)
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; "
        f"script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'"
    )
    return render_template(template, style=style, script=script, policy=policy, **content)


def _list_headers(page: Page) -> list[Header]:
    """Return every header that a kernel of the page includes, once."""
    found = {
        header.key: header
        for board in page.boards
        for row in board.rows
        for header in separate_headers(row.source)[1]
    }
    return list(found.values())


# Bars of the ratios: a line from 1 to the ratio, and one for its interval, on one scale of
# logarithms. A bar is in an area of 100 by 12.

BAR_WIDTH = 100.0
# The scale has at least these ratios, and no ratio beyond the others.
LEAST_SCALE, LARGEST_SCALE = 2.0, 100.0


def _draw_bars(rows: Sequence[KernelRow]) -> list[dict[str, float] | None]:
    """Return the places of 1, of the ratio and of its ends for each row; None without a ratio."""
    most = max(
        (
            max(end, 1 / end)
            for row in rows
            if row.ratio is not None
            for end in (row.ratio.value, *row.ratio.useful_ends)
            if end is not None and end > 0
        ),
        default=LEAST_SCALE,
    )
    scale = math.log(min(max(most, LEAST_SCALE), LARGEST_SCALE))

    def place(ratio: float | None, otherwise: float) -> float:
        if ratio is None or ratio <= 0:
            return otherwise
        share = min(1.0, max(-1.0, math.log(ratio) / scale))
        return round(BAR_WIDTH * (1 + share) / 2, 1)

    bars: list[dict[str, float] | None] = []
    for row in rows:
        if row.ratio is None or row.ratio.value <= 0:
            bars.append(None)
            continue
        value, (low, high) = place(row.ratio.value, 0.0), row.ratio.useful_ends
        bars.append(
            {
                "one": BAR_WIDTH / 2,
                "value": value,
                "begin": min(value, BAR_WIDTH / 2),
                "width": round(abs(value - BAR_WIDTH / 2), 1),
                "low": place(low, 0.0),
                "high": place(high, BAR_WIDTH),
            }
        )
    return bars


STRIP_WIDTH, STRIP_EDGE = 600.0, 4.0


def _draw_strip(row: KernelRow) -> dict[str, Any] | None:
    """Return the distribution of a kernel's samples: a stroke for each, and the ends of the axis.

    Samples beyond the 98 % quantile are drawn at the end of the axis.
    """
    if len(row.samples_ns) < 2:
        return None
    ordered = sorted(row.samples_ns)
    low, high = ordered[0], ordered[min(len(ordered) - 1, round(0.98 * (len(ordered) - 1)))]
    span = (high - low) or 1.0
    inner = STRIP_WIDTH - 2 * STRIP_EDGE
    places = (STRIP_EDGE + inner * min(1.0, (each - low) / span) for each in row.samples_ns)
    path = "".join(f"M{place:.1f} 4v16" for place in places)
    return {"path": path, "width": STRIP_WIDTH, "low": low, "high": high}


# Commits with a label below a graph of the past; more would overlap.
MOST_LABELS = 6
# The vertical range of the graph ends at this multiple of the most extreme values.
BEYOND_VALUES = 1.5


def plot_past(row: KernelRow) -> Plot | None:
    """Return the results of a kernel over the commits in the order of their first results.

    Return None without a past. The line connects the medians of the commits.
    """
    past = row.past
    if past is None:
        return None
    first = past.results[0].score
    scaled, unit = (first, "") if past.by_reference else numbers.in_time_unit(first)
    scale = scaled.value / first.value
    commits = list(dict.fromkeys(map(_commit_of, past.results)))
    places = {commit: 0.5 + place for place, commit in enumerate(commits)}
    dots = []
    scores: dict[str, list[float]] = {}
    for each in past.results:
        low, high = each.score.useful_ends
        scores.setdefault(_commit_of(each), []).append(scale * each.score.value)
        shown = numbers.ratio(each.score) if past.by_reference else numbers.time(each.score)
        origin = f"{revision_text(each.commit or None)}, {each.recorded_at[:10]}, run {each.run}"
        dots.append(
            Dot(
                places[_commit_of(each)],
                scale * each.score.value,
                "line-0" if each.is_same else "line-5",
                radius=4,
                title=f"{shown} ({origin})",
                ends=(scale * low, scale * high) if low is not None and high is not None else None,
            )
        )
    curve = [(places[commit], statistics.median(found)) for commit, found in scores.items()]
    label = "MLX / kernel" if past.by_reference else f"time,{unit}"
    return Plot(
        f"Past of {numbers.label(row.task, row.dtype, row.size)}",
        _commit_axis(commits),
        _score_axis(label, [dot.y for dot in dots], dots),
        curves=[Curve(curve, "line-5")],
        dots=dots,
        height=200,
        top=12,
        bottom=56,
    )


def _commit_of(each: PastResult) -> str:
    """Return the commit of a result; outside of a repository its date."""
    return each.commit or each.recorded_at[:10]


def _commit_axis(commits: Sequence[str]) -> Axis:
    step = math.ceil(len(commits) / MOST_LABELS)
    # The latest has a label always.
    labelled = range((len(commits) - 1) % step, len(commits), step)
    ticks = [(0.5 + place, revision_text(commits[place])) for place in labelled]
    return Axis("commit, the latest at the right", 0, len(commits), ticks, has_grid=False)


def _score_axis(label: str, values: Sequence[float], dots: Sequence[Dot]) -> Axis:
    """Return an axis with all values, and their intervals as far as they are not much wider."""
    ends = [end for dot in dots for end in dot.ends or ()]
    low = max(min([*values, *ends]), min(values) / BEYOND_VALUES)
    high = min(max([*values, *ends]), max(values) * BEYOND_VALUES)
    margin = 0.05 * (high - low) or 0.05 * high
    return Axis.over_range(label, low - margin, high + margin)


def _board(board: Board, number: int) -> dict[str, Any]:
    """Return what the template shows of a board."""
    engine = f", {board.engine}" if board.engine else ""
    simulation = simulation_notice(board.device)
    columns = _columns(board)
    kernels = numbers.count(len(board.rows), "kernel")
    anchors = [f"kernel-{number}-{index}" for index in range(len(board.rows))]
    plot = roofline_plot(board.rows, anchors, board.peaks)
    return {
        "name": f"{device_line(board.device)}{engine}",
        "simulation": simulation,
        "lines": board.lines,
        "caption": f"{kernels}. Times are of one pass, with {100 * CONFIDENCE:g} % intervals.",
        "columns": columns,
        "rows": [
            {
                "row": row,
                "anchor": anchor,
                "cells": list(_cells(row, columns)),
                "facts": _facts(row),
                "tokens": split_source(separate_headers(row.source)[0]),
                "headers": separate_headers(row.source)[1],
                "strip": _draw_strip(row),
                "past": plot_past(row),
                "bar": bar,
            }
            for row, anchor, bar in zip(board.rows, anchors, _draw_bars(board.rows), strict=True)
        ],
        "plot": plot,
        "plot_caption": _explain_plot(board),
    }


def _explain_plot(board: Board) -> str:
    text = f"No roof is drawn: {board.without_peaks or UNKNOWN_PEAKS}."
    if board.peaks is not None:
        text = explain_peaks(board.peaks)
        text += " Above a slope are passes whose inputs stayed in faster caches."
    bare = sum(row.time_ns is not None and not row.intensity for row in board.rows)
    if bare:
        text += f" {numbers.count(bare, 'kernel')} without arithmetic cannot be drawn here."
    return text


def _columns(board: Board) -> list[str]:
    rows = board.rows
    of_run = not any(row.history for row in rows)
    return [
        "task",
        *(["set"] if len({row.set for row in rows}) > 1 else []),
        *("dtype", "size"),
        *(["correct"] if of_run else []),
        *INTERVALS,
        *([] if of_run else ["since", "by", "records"]),
    ]


def _cells(row: KernelRow, columns: Sequence[str]) -> Iterator[tuple[str, Any, str | float | None]]:
    """Yield the column, the value and the sort key of each cell; the key of "-" is None."""
    for column in columns:
        if column in INTERVALS:
            interval = INTERVALS[column](row)
            yield column, interval, interval.value if interval is not None else None
        else:
            value = OTHERS[column](row)
            yield column, value, value


def _facts(row: KernelRow) -> list[tuple[str, str]]:
    extents = ", ".join(f"{name} {extent}" for name, extent in row.extents.items())
    return [
        ("set", row.set),
        ("size", f"{row.size} ({extents})" if extents else row.size),
        ("file", row.kernel),
        ("tunables", format_tunables(row.tunables)),
        ("SHA-256", row.source_hash),
        ("times are of", row.clock or ""),
        *row.facts,
    ]


def _level(columns: Sequence[FolderFigures], level: str) -> dict[str, Any]:
    """Return what the template shows of a level: a table with a column for each run, and a plot."""
    runs = [each for each in columns if level in each.levels]
    figures = [each.levels[level] for each in runs]
    return {
        "name": level,
        "runs": runs,
        "lines": [
            (name.strip(), [cell(each) for each in figures])
            for name, cell in figure_lines(figures[0], figures)
        ],
        "plot": fast_p_plot(columns, level),
        "problems": list_problems(runs, level),
    }
