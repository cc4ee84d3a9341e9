"""A rich console that sanitises control characters, CI commands and links."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from metalbench.safe_text import terminal_text
from metalbench.stats import Verdict
from metalbench.store.result import Status


class SafeConsole(Console):
    """A console that sanitises all text; control sequences of rich itself pass."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of a renderable, with sanitised text."""
        for text, style, control in super().render(renderable, options):
            if control is not None:
                yield Segment(text, style, control)
            else:
                yield Segment(terminal_text(text), _without_link(style))


def _without_link(style: Style | None) -> Style | None:
    return style.update_link(None) if style is not None and style.link else style


# The common style of all tables.


def plain_table(*, terminal: bool, gap: int = 2) -> Table:
    """Return an empty table with `gap` blanks between columns; only terminals get a rule."""
    return Table(
        box=box.SIMPLE_HEAD if terminal else None,
        show_edge=False,
        header_style="bold",
        pad_edge=False,
        padding=(0, gap - 1 if terminal else gap, 0, 0),
    )


def fits_width(table: Table, console: Console) -> bool:
    """Return whether `console` has room for the table with one line for each row."""
    unlimited = console.options.update(max_width=100 * console.width)
    return console.measure(table, options=unlimited).maximum <= console.width


_DETAIL = re.compile(r" (?=[\[(A-Z])")


def break_before_detail(cell: str | Text) -> Text:
    """Return a cell with its interval or verdict in a second line, for a narrow table."""
    text = Text(cell) if isinstance(cell, str) else cell
    found = _DETAIL.search(text.plain)
    if found is None:
        return text
    return Text("\n").join([text[: found.start()], text[found.end() :]])


# Colours by meaning.

STATUS_STYLES = {Status.CORRECT: "green", Status.INCORRECT: "bold red", Status.FAILED: "bold red"}
STATUS_STYLES[Status.NOT_OWN] = "bold red"
VERDICT_STYLES = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.SAME: "blue",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.THROTTLED: "yellow",
}
HEADING = "bold"
QUIET = "dim"
WARNING = "yellow"
