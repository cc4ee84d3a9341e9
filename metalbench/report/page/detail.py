"""The section of one kernel on a page: facts, history and source."""

from __future__ import annotations

from collections.abc import Iterator

from metalbench.report import numbers
from metalbench.report.page.markup import Markup, element, join_markup
from metalbench.report.page.model import KernelRow, RecordStep
from metalbench.report.page.source import highlight_source
from metalbench.report.page.table import time, verdict_mark, with_ends
from metalbench.result.tuning import format_tunables

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
