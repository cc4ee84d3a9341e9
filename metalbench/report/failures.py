"""Failures, kernel by kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from rich.console import Group, RenderableType
from rich.text import Text

from metalbench.report.styles import HEADING, STATUS_STYLES
from metalbench.result import Result


def failures(results: Sequence[Result]) -> Group:
    """Return every failure's stage and message, verbatim and in the order of the results."""
    return Group(*_blocks(results))


def _blocks(results: Sequence[Result]) -> Iterator[RenderableType]:
    for result in results:
        for failure in result.failures:
            title = Text(f"{result.case.task} ({result.case.dtype}): ", style=HEADING)
            title.append(result.status.value, style=STATUS_STYLES[result.status])
            title.append(f" at {failure.stage}")
            yield title
            yield Text(indent(failure.message, "  ") + "\n")
