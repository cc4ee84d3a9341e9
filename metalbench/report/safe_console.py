"""A rich console that sanitises control characters, CI commands and links."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style

from metalbench.foreign_text import terminal_text


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
