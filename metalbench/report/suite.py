"""The report on a run of several kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from metalbench.measure import Mode
from metalbench.report.failures import failures
from metalbench.report.judged import discovery_line
from metalbench.report.marks import format_marks
from metalbench.report.notice import clock_notice, device_line, simulation_notice
from metalbench.report.shown import explain_ends
from metalbench.report.styles import QUIET, WARNING
from metalbench.report.summary import summary_lines
from metalbench.report.table import results_table
from metalbench.report.warnings import brief_warning_lines, warning_lines
from metalbench.result import Result
from metalbench.result.tuning import format_tunables
from metalbench.stats import CONFIDENCE

if TYPE_CHECKING:
    from rich.console import Console


def brief_report(results: Sequence[Result], seconds: float) -> Group:
    """Return only failures and summary."""
    wrong = [failures(results)] if any(result.failures for result in results) else []
    return Group(*wrong, *(Text(line) for line in summary_lines(results, seconds)))


def suite_report(
    results: Sequence[Result], console: Console, seconds: float, *, verbose: bool = False
) -> Group:
    """Return table, failures, warnings and summary of at least one result, judged together.

    A warning is one line, or with `verbose` its whole text.
    """
    device = results[0].device
    blocks: list[RenderableType] = [results_table(results, console), Text()]
    if any(result.failures for result in results):
        blocks.append(failures(results))
    told = warning_lines(results) if verbose else brief_warning_lines(results)
    doubts = [*format_marks(results), *(f"Warning: {line}" for line in told)]
    blocks += [Text(line, style=WARNING) for line in doubts]
    blocks += [Text(line) for line in ([""] if doubts else [])]
    blocks += [Text(line) for line in summary_lines(results, seconds)]
    modes = {result.measurement.mode for result in results if result.measurement is not None}
    cold = " Inputs are cold: no cache holds them." if Mode.COLD in modes else ""
    sizes = ", ".join(dict.fromkeys(result.case.size for result in results if result.case.size))
    blocks.append(
        Text(
            f"Device: {device_line(device)}. Size: {sizes}. Times are medians of one pass with "
            f"{100 * CONFIDENCE:g} % intervals.{cold}",
            style=QUIET,
        )
    )
    said = (clock_notice(results), discovery_line(results))
    blocks += [Text(line, style=QUIET) for line in (*said, *_tunings(results)) if line]
    blocks += [Text(note, style=WARNING) for note in _notes(results)]
    blocks += [Text(line, style=QUIET) for line in explain_ends(results)]
    notice = simulation_notice(device)
    if notice:
        blocks.append(Text(notice, style=WARNING))
    return Group(*blocks)


def _tunings(results: Sequence[Result]) -> Iterator[str]:
    """Yield the tunables of every kernel for which a search found them, and their origin."""
    for case in (result.case for result in results if result.case.tuning):
        yield f"{case.task}: {format_tunables(case.tunables)}: {case.tuning}."


def _notes(results: Sequence[Result]) -> list[str]:
    """Return every note once, with its tasks."""
    tasks: dict[str, dict[str, None]] = {}
    for result in results:
        for note in result.notes:
            tasks.setdefault(note, {})[result.case.task] = None
    every = len({result.case.task for result in results})
    return [
        f"{'all kernels' if len(about) == every else ', '.join(about)}: {note}."
        for note, about in tasks.items()
    ]
