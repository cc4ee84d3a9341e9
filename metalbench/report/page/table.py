"""The table of a board: readable without scripts, and sortable with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metalbench.report import numbers
from metalbench.report.page.markup import Markup, element, join_markup
from metalbench.report.page.model import Board, KernelRow
from metalbench.stats import Interval

RATIO = "MLX / kernel"
TIMES = ("kernel", "MLX")
NUMBERS: dict[str, Callable[[KernelRow], Interval | None]] = {
    "kernel": lambda row: row.time_ns,
    "MLX": lambda row: row.reference_ns,
    RATIO: lambda row: row.ratio,
    "GFLOP/s": lambda row: row.gflops if row.gflops and row.gflops.value else None,
    "GB/s": lambda row: row.gbytes_per_s,
}
MARKS = {"FASTER": "faster", "SLOWER": "slower", "SAME": "same"}


def table(board: Board, anchors: list[str], caption: str) -> Markup:
    """Return the rows of a board; each name links to its anchor."""
    names = _columns(board)
    heads = (element("th", each, scope="col", role="columnheader") for each in names)
    body = (
        element("tr", *_cells(row, anchor, names), role="row")
        for row, anchor in zip(board.rows, anchors, strict=True)
    )
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *body, role="rowgroup"),
        role="table",
        data_sortable=True,
    )


def verdict_mark(verdict: str) -> Markup:
    """Return a verdict in its colour."""
    return element("span", verdict, class_=f"verdict {MARKS.get(verdict, 'unclear')}")


def with_ends(interval: Interval | None, unit: str = "") -> Markup:
    """Return an estimate with its interval in a lighter style."""
    if interval is None:
        return join_markup(numbers.MISSING)
    ends = element("span", numbers.ends(interval), class_="ends")
    return join_markup(f"{numbers.estimate(interval)}{unit} ", ends)


def time(interval: Interval | None) -> Markup:
    """Return a time in its best unit, with its interval."""
    return with_ends(*numbers.in_time_unit(interval)) if interval else with_ends(None)


def _columns(board: Board) -> list[str]:
    rows = board.rows
    of_run = not any(row.history for row in rows)
    return [
        "task",
        *(["set"] if len({row.set for row in rows}) > 1 else []),
        "dtype",
        "size",
        *(["correct"] if of_run else []),
        "kernel",
        "MLX",
        RATIO,
        "GFLOP/s",
        "GB/s",
        *([] if of_run else ["since", "records"]),
    ]


def _cells(row: KernelRow, anchor: str, names: list[str]) -> Iterator[Markup]:
    for name in names:
        shown, value = _cell(row, anchor, name)
        # In a narrow window every cell becomes a line with this label.
        common = {"data_label": name, "data_value": value}
        if name == "task":
            yield element("th", shown, scope="row", role="rowheader", **common)
        else:
            kind = "number" if name in (*NUMBERS, "records") else None
            yield element("td", shown, role="cell", class_=kind, **common)


def _cell(row: KernelRow, anchor: str, name: str) -> tuple[str, str | float | None]:
    """Return the content of a cell, and its sort key."""
    if name in NUMBERS:
        interval = NUMBERS[name](row)
        return _number(row, name, interval), interval.value if interval is not None else None
    if name == "records":
        return str(len(row.history)), len(row.history)
    if name == "since":
        since = row.history[0].accepted_at
        return element("time", since[:10], datetime=since), since
    said = row.status if name == "correct" else str(getattr(row, name))
    if name == "task":
        return element("a", said, href=f"#{anchor}"), said
    return element("span", said, class_=f"status {said}") if name == "correct" else said, said


def _number(row: KernelRow, name: str, interval: Interval | None) -> str:
    if name == RATIO:
        return _ratio(row)
    if name in TIMES:
        return time(interval)
    # A rate without an interval has a time without one, which the table shows already.
    if interval is not None and interval.useful_ends == (None, None):
        return numbers.estimate(interval)
    return with_ends(interval)


def _ratio(row: KernelRow) -> Markup:
    parts = [with_ends(row.ratio, "x")]
    if row.verdict is not None:
        parts.append(verdict_mark(row.verdict))
    if row.launch_bound:
        parts.append(verdict_mark("LAUNCH-BOUND"))
    return join_markup(*(join_markup(each, " ") for each in parts))
