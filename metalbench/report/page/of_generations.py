"""A page of generated kernels: tables and curves of every level, one column a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalbench.generations.comparison import FolderFigures
from metalbench.report.generations import explain_figures, figure_lines
from metalbench.report.notice import SIMULATION
from metalbench.report.page.document import build_document
from metalbench.report.page.fast_p_chart import fast_p_chart
from metalbench.report.page.markup import Markup, element
from metalbench.stats import CONFIDENCE

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
