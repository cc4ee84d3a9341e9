"""Show the progress of one measurement in a line of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Drawing costs time during a measurement.
SECONDS_BETWEEN_DRAWINGS = 0.5


@contextmanager
def waiting(console: Console, title: str) -> Iterator[Callable[[float], None]]:
    """Show `title` with a fraction in this context; yield the function that sets the fraction."""
    from rich.live import Live
    from rich.text import Text

    if not console.is_terminal:
        yield lambda _: None
        return
    drawn = float("-inf")
    with Live(Text(title), console=console, auto_refresh=False, transient=True) as live:

        def tell(fraction: float) -> None:
            nonlocal drawn
            if monotonic() - drawn >= SECONDS_BETWEEN_DRAWINGS:
                drawn = monotonic()
                live.update(Text(f"{title}: {100 * fraction:.0f} %"), refresh=True)

        yield tell
