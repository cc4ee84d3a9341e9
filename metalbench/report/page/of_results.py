"""A page of one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metalbench.report import shown
from metalbench.report.marks import format_marks
from metalbench.report.page.model import Board, KernelRow, Page
from metalbench.report.summary import summary_lines
from metalbench.result import DeviceFacts, Result

if TYPE_CHECKING:
    from metalbench.result.environment import Environment

WHAT = "One run: every kernel checked, and timed in pairs with MLX on the same device."


def page_of_results(
    results: Sequence[Result], device: DeviceFacts, environment: Environment, seconds: float
) -> Page:
    """Return a page of a run that took `seconds`."""
    facts = _facts(environment)
    rows = tuple(_row(result, facts) for result in results)
    engine = environment.engine if device.kind == "cpu" else ""
    lines = (*summary_lines(results, seconds), *format_marks(results))
    return Page("MetalBench run", WHAT, (Board(device, engine, rows, lines),))


def _facts(environment: Environment) -> tuple[tuple[str, str], ...]:
    versions = environment.versions
    return (
        ("machine", f"{environment.cpu}, {environment.os}"),
        ("MLX", versions.get("mlx", "")),
        ("MetalBench", " ".join(filter(None, (versions.get("metalbench"), environment.revision)))),
    )


def _row(result: Result, facts: tuple[tuple[str, str], ...]) -> KernelRow:
    case, measured, analysis = result.case, result.measurement, result.analysis
    verdict = measured.verdict if measured is not None else None
    work = analysis.work if analysis is not None else None
    return KernelRow(
        task=case.task,
        set=case.set,
        dtype=case.dtype,
        size=case.size,
        status=result.status.value,
        kernel=case.kernel,
        source=case.source,
        source_hash=case.source_hash,
        extents=case.sizes,
        tunables=case.tunables,
        time_ns=shown.kernel_time(measured) if measured is not None else None,
        reference_ns=shown.reference_time(measured) if measured is not None else None,
        ratio=shown.ratio(measured) if measured is not None else None,
        verdict=verdict.value if verdict is not None else None,
        clock=measured.clock if measured is not None else None,
        launch_bound=measured is not None and measured.launch_bound,
        gflops=work.gflops if work is not None else None,
        gbytes_per_s=work.gbytes_per_s if work is not None else None,
        notes=result.notes,
        failures=tuple(f"at {each.stage}: {each.message}" for each in result.failures),
        facts=facts,
    )
