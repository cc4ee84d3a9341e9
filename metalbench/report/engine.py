"""How the MSL engine runs kernels: in loops, as vectors or as fibers, and why."""

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
    "loops: threads are the turns of a loop. vectors: threads are the elements of vectors. "
    "fibers: each thread has a stack of its own."
)


def engine_table(builds: Mapping[bool, Sequence[Pipeline]], *, terminal: bool) -> Group:
    """List how kernels run; `builds` has them by whether their build is a checked one."""
    table = plain_table(terminal=terminal)
    for name in ("kernel", "build", "runs as"):
        table.add_column(name, no_wrap=True)
    table.add_column("because")
    for name in dict.fromkeys(each.name for pipelines in builds.values() for each in pipelines):
        for checked, pipelines in builds.items():
            for each in pipelines:
                if each.name == name:
                    build = "checked" if checked else "plain"
                    table.add_row(*map(Text, (name, build, way(each), because(each))))
    return Group(table, Text(f"\n{LEGEND}", style=QUIET))


def way(pipeline: Pipeline) -> str:
    """How a kernel runs: `vectors of 32, 16 or 8 threads`."""
    if not pipeline.engine_widths:
        return pipeline.engine
    *others, least = map(str, pipeline.engine_widths)
    widths = f"{', '.join(others)} or {least}" if others else least
    return f"{pipeline.engine} of {widths} threads"


def because(pipeline: Pipeline) -> str:
    """Why a kernel runs as it does."""
    return pipeline.engine_reason or "its threads synchronise"
