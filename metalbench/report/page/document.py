"""The HTML document: one file without external resources, restricted to its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from metalbench.kernelbench.comparison import FolderFigures
from metalbench.measure.analysis import SIMULATED, UNKNOWN_PEAKS
from metalbench.report import numbers
from metalbench.report.generations import explain_figures, figure_lines
from metalbench.report.page.charts import fast_p_chart, roofline_plot
from metalbench.report.page.markup import Markup, element, join_markup
from metalbench.report.page.model import Board, Page
from metalbench.report.page.tables import detail, table
from metalbench.report.warnings import CLOCKS, SIMULATION, device_line, simulation_notice
from metalbench.stats import CONFIDENCE

THEMES = {"system": "as the system", "light": "light", "dark": "dark"}
NOTHING = "No records yet; `metalbench run --record` makes some."


def to_html(page: Page) -> str:
    """Return the page as one HTML file, with its style and script."""
    return build_document(page.title, page.lead, _boards(page), _notes(page))


def build_document(title: str, lead: str, main: Iterable[Markup], footer: Iterable[Markup]) -> str:
    """Return an HTML file with this content, and the style and script of all pages."""
    style, script = _file("page.css"), _file("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style)),
    )
    top, bottom = _top(title, lead), _bottom(footer, script)
    body = element("body", top, element("main", *main), bottom)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy that allows only this style and this script."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _top(title: str, lead: str) -> Markup:
    choices = (
        element(
            "label",
            element(
                "input", type="radio", name="theme", id=f"theme-{name}", checked=name == "system"
            ),
            f" {said}",
        )
        for name, said in THEMES.items()
    )
    switch = element("fieldset", element("legend", "Colours"), *choices, class_="themes")
    return element("header", element("h1", title), switch, element("p", lead, class_="lead"))


def _boards(page: Page) -> Iterator[Markup]:
    if not page.boards:
        yield element("p", NOTHING)
    for number, board in enumerate(page.boards):
        yield element("section", *_board(board, number), aria_labelledby=f"board-{number}")


def _board(board: Board, number: int) -> Iterator[Markup]:
    engine = f", {board.engine}" if board.engine else ""
    yield element("h2", f"{device_line(board.device)}{engine}", id=f"board-{number}")
    simulated = simulation_notice(board.device)
    if simulated is not None:
        yield element("p", element("strong", "Simulated. "), simulated, class_="notice")
    yield from (element("p", line) for line in board.lines)
    anchors = [f"kernel-{number}-{index}" for index in range(len(board.rows))]
    if not board.rows:
        return
    kernels = numbers.count(len(board.rows), "kernel")
    caption = f"{kernels}. Times are of one pass, with {100 * CONFIDENCE:g} % intervals."
    rows = table(board, anchors, caption)
    yield _navigation(number)
    scrolls = {"id": f"table-{number}", "class_": "wide", "role": "region"}
    yield element("div", rows, **scrolls, tabindex=0, aria_label="kernels")
    yield element("h3", "Roofline", id=f"plot-{number}")
    yield element("figure", *_figure(board, anchors, simulated=simulated is not None))
    yield element("h3", "Kernels", id=f"kernels-{number}")
    yield from (detail(row, anchor) for row, anchor in zip(board.rows, anchors, strict=True))


def _navigation(number: int) -> Markup:
    """Return links to the sections, because a keyboard would need hundreds of steps."""
    places = {"table": "table", "plot": "roofline", "kernels": "kernels"}
    links = (element("a", said, href=f"#{at}-{number}") for at, said in places.items())
    return element("nav", "Go to: ", *(join_markup(link, " ") for link in links), class_="quiet")


def _figure(board: Board, anchors: list[str], *, simulated: bool) -> Iterator[Markup]:
    title = "Throughput against arithmetic intensity"
    yield roofline_plot(board.rows, anchors, board.peaks, title)
    reason = SIMULATED if simulated else UNKNOWN_PEAKS
    said = f"No roof is drawn: {reason.removeprefix('no roof: ')}."
    if board.peaks is not None:
        said = "Above the slope are passes whose inputs stayed in the caches."
    bare = sum(row.time_ns is not None and not row.intensity for row in board.rows)
    if bare:
        said += f" {numbers.count(bare, 'kernel')} without arithmetic cannot be drawn here."
    yield element("figcaption", said)


def _notes(page: Page) -> Iterator[Markup]:
    clocks = {row.clock for board in page.boards for row in board.rows if row.clock}
    meanings = [f"{clock}: {CLOCKS[clock]}" for clock in sorted(clocks) if clock in CLOCKS]
    lines = (
        "MLX / kernel is the time of MLX over that of the kernel: above 1 the kernel is faster.",
        "[low, high] is an interval; {low, high} are the ends of blocks of few windows.",
        *meanings,
    )
    yield from (element("p", line) for line in lines)


def _bottom(footer: Iterable[Markup], script: str) -> Markup:
    return join_markup(
        element("footer", *footer),
        element("p", id="sorted", role="status", class_="unseen"),
        element("script", Markup(script)),
    )


# A page of generated kernels: tables and curves of every level, one column a run.

TITLE = "Generated kernels"


def page_of_generations(columns: Sequence[FolderFigures], baseline: str) -> str:
    """Return the page as one HTML file."""
    lead = "Shares of kernels that compile, are correct and are fast: " + ", ".join(
        each.name for each in columns
    )
    return build_document(
        TITLE, lead, _levels(columns), (element("p", " ".join(explain_figures(baseline))),)
    )


def _levels(columns: Sequence[FolderFigures]) -> Iterator[Markup]:
    if any("simulated" in each.device for each in columns):
        yield element("p", element("strong", "Simulated. "), SIMULATION, class_="notice")
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    for number, level in enumerate(levels):
        yield element(
            "section",
            element("h2", level, id=f"level-{number}"),
            element("div", _table(columns, level), class_="wide"),
            element("figure", fast_p_chart(columns, level), _caption()),
            aria_labelledby=f"level-{number}",
        )


def _table(columns: Sequence[FolderFigures], level: str) -> Markup:
    shown = [each for each in columns if level in each.levels]
    figures = [each.levels[level] for each in shown]
    heads = [element("th", f"{each.name} ({each.device})", scope="col") for each in shown]
    rows = (
        element(
            "tr",
            element("th", name.strip(), scope="row"),
            *(element("td", cell(each)) for each in figures),
        )
        for name, cell in figure_lines(figures[0], figures)
    )
    head = element("tr", element("th", "figure", scope="col"), *heads)
    return element("table", element("thead", head), element("tbody", *rows))


def _caption() -> Markup:
    percent = f"{100 * CONFIDENCE:g} %"
    return element("figcaption", f"Bands are {percent} bootstrap intervals over problems.")
