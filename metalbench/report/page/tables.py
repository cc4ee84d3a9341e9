"""The table of a board: readable without scripts, and sortable with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metalbench.report import numbers
from metalbench.report.page.markup import Markup, element, highlight_source, join_markup
from metalbench.report.page.model import Board, KernelRow, RecordStep
from metalbench.stats import Interval
from metalbench.store.result import format_tunables

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


# The section of one kernel on a page: facts, history and source.

HASH_LETTERS = 12


def detail(row: KernelRow, anchor: str) -> Markup:
    """Return one kernel, collapsed; it opens without a script."""
    about = f"{row.dtype}, {row.size}"
    name = join_markup(element("strong", row.task), " ", element("span", about, class_="quiet"))
    summary = element("summary", name, " ", element("span", *_brief(row), class_="brief"))
    return element("details", summary, *_blocks(row), id=anchor)


def _brief(row: KernelRow) -> Iterator[str]:
    if row.time_ns is None:
        yield element("span", row.status, class_=f"status {row.status}")
        return
    yield element("span", time(row.time_ns))
    if row.ratio is not None:
        yield element("span", with_ends(row.ratio, "x"))
    if row.verdict is not None:
        yield verdict_mark(row.verdict)


def _blocks(row: KernelRow) -> Iterator[Markup]:
    for message in row.failures:
        yield element("pre", message, class_="failure", tabindex=0)
    yield element("dl", *_facts(row))
    if row.notes:
        yield element("ul", *(element("li", note) for note in row.notes), class_="notes")
    if row.history:
        yield _history(row.history)
    label = f"source of {row.kernel}"
    # It scrolls, so it must be reachable by keyboard.
    yield element(
        "pre",
        element("code", highlight_source(row.source)),
        class_="source",
        tabindex=0,
        role="region",
        aria_label=label,
    )


def _facts(row: KernelRow) -> Iterator[Markup]:
    extents = ", ".join(f"{name} {extent}" for name, extent in row.extents.items())
    facts = [
        ("set", row.set),
        ("size", f"{row.size} ({extents})" if extents else row.size),
        ("file", row.kernel),
        ("tunables", format_tunables(row.tunables)),
        ("SHA-256", row.source_hash),
        ("times are of", row.clock or ""),
        *row.facts,
    ]
    for name, value in facts:
        if value:
            yield element("div", element("dt", name), element("dd", value))


def _history(steps: tuple[RecordStep, ...]) -> Markup:
    names = ("since", "time", "MLX / kernel", "against the record before", "SHA-256", "by")
    head = element("tr", *(element("th", name, scope="col") for name in names))
    body = element("tbody", *map(_step, steps))
    caption = element("caption", "Records of this place, the latest first")
    inner = element("table", caption, element("thead", head), body, class_="history")
    return element(
        "div", inner, class_="wide", tabindex=0, role="region", aria_label="history of the record"
    )


def _step(step: RecordStep) -> Markup:
    gains = " and ".join(map(numbers.ratio, step.gains)) or "the first"
    cells = (
        element("time", step.accepted_at[:16].replace("T", " "), datetime=step.accepted_at),
        time(step.time_ns),
        with_ends(step.ratio, "x"),
        gains,
        step.source_hash[:HASH_LETTERS],
        step.origin,
    )
    return element("tr", *(element("td", each) for each in cells))
