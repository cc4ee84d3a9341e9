"""The common style of all tables."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain_table(*, terminal: bool, gap: int = 2) -> Table:
    """Return an empty table with `gap` blanks between columns; only terminals get a rule."""
    return Table(
        box=box.SIMPLE_HEAD if terminal else None,
        show_edge=False,
        header_style="bold",
        pad_edge=False,
        padding=(0, gap - 1 if terminal else gap, 0, 0),
    )
