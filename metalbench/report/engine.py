"""Execution modes of the MSL engine for each kernel, with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from metalbench.report.plain import plain_table
from metalbench.report.styles import QUIET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metalbench._core import Pipeline

LEGEND = (
    "loops: threads are the iterations of a loop. vectors: threads are the elements of vectors. "
    "fibers: each thread has a separate stack."
)


def engine_table(builds: Mapping[bool, Sequence[Pipeline]], *, terminal: bool) -> Group:
    """Return a table of execution modes; `builds` maps checked or not to the compiled kernels."""
    table = plain_table(terminal=terminal)
    for name in ("kernel", "build", "runs as"):
        table.add_column(name, no_wrap=True)
    table.add_column("because")
    for name in dict.fromkeys(each.name for pipelines in builds.values() for each in pipelines):
        for checked, pipelines in builds.items():
            for each in pipelines:
                if each.name == name:
                    build = "checked" if checked else "plain"
                    table.add_row(
                        *map(Text, (name, build, describe_engine(each), explain_engine(each)))
                    )
    return Group(table, Text(f"\n{LEGEND}", style=QUIET))


def describe_engine(pipeline: Pipeline) -> str:
    """Return the execution mode: `vectors of 32, 16 or 8 threads`."""
    if not pipeline.engine_widths:
        return pipeline.engine
    *others, least = map(str, pipeline.engine_widths)
    widths = f"{', '.join(others)} or {least}" if others else least
    return f"{pipeline.engine} of {widths} threads"


def explain_engine(pipeline: Pipeline) -> str:
    """Return the reason for the execution mode."""
    return pipeline.engine_reason or "its threads synchronise"
