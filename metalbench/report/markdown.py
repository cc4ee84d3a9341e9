"""A run as Markdown, for a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalbench.comparison.regression import Regression
from metalbench.foreign_text import markdown_block, markdown_cell, markdown_text
from metalbench.report import numbers, shown
from metalbench.report.labels import label
from metalbench.report.notice import clock_notice, device_line, simulation_notice
from metalbench.report.summary import summary_lines
from metalbench.result import Result, Status

COLUMNS = ("task", "size", "dtype", "correct", "kernel", "MLX", "MLX / kernel", "verdict")
BY_WALL = "by wall time"


def to_markdown(
    results: Sequence[Result], seconds: float, regressions: Sequence[Regression] = ()
) -> str:
    """Return a table of the results, then failures and regressions."""
    return "\n".join(_lines(results, seconds, regressions)) + "\n"


def _lines(
    results: Sequence[Result], seconds: float, regressions: Sequence[Regression]
) -> Iterator[str]:
    yield "## MetalBench\n"
    yield from (f"{markdown_text(line)}  " for line in summary_lines(results, seconds))
    yield ""
    with_wall = any(each.measurement and each.measurement.by_wall for each in results)
    columns = (*COLUMNS, BY_WALL) if with_wall else COLUMNS
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for result in results:
        yield f"| {' | '.join(_cells(result)[: len(columns)])} |"
    for each in regressions:
        ratio = numbers.ratio(each.judgement.ratio)
        name = markdown_cell(label(*each.key))
        yield f"\n**{name} became slower**: {ratio} against {markdown_cell(each.against)}"
    for result in results:
        for failure in result.failures:
            name = markdown_cell(label(result.case.task, result.case.dtype))
            yield f"\n**{name}: {result.status.value} at {markdown_cell(failure.stage)}**\n"
            yield markdown_block(failure.message)
        if result.unconfined:
            name = markdown_cell(label(result.case.task, result.case.dtype))
            unconfined = markdown_text(result.unconfined)
            yield f"\n**{name}: its process was not confined**: {unconfined}"
    if results:
        device = results[0].device
        said = simulation_notice(device) or clock_notice(results) or ""
        yield f"\nDevice: {markdown_cell(device_line(device))}. {said}".rstrip()


def _cells(result: Result) -> tuple[str, ...]:
    """Return the cells of a row as Markdown."""
    case, measured = result.case, result.measurement
    names = map(markdown_cell, (case.task, case.size, case.dtype))
    status = "correct" if result.status is Status.CORRECT else f"**{result.status.value}**"
    if measured is None:
        return (*names, status, *[numbers.MISSING] * 5)
    return (
        *names,
        status,
        numbers.time(shown.kernel_time(measured)),
        numbers.time(shown.reference_time(measured)),
        numbers.ratio(shown.ratio(measured)),
        measured.verdict.value if measured.verdict else numbers.MISSING,
        numbers.ratio(measured.by_wall.ratio if measured.by_wall else None),
    )
