"""What a run of many amounts to."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.report import numbers
from metalbench.result import Result, Status
from metalbench.stats import Interval, Verdict, geometric_mean


def suite_ratio(results: Sequence[Result]) -> Interval | None:
    """Geometric mean of the ratios that carry an interval; None if fewer than two do."""
    ratios = [
        result.measurement.ratio
        for result in results
        if result.measurement is not None
        and result.measurement.ratio is not None
        and result.measurement.ratio.bounded
    ]
    return geometric_mean(ratios) if len(ratios) > 1 else None


def summary_lines(results: Sequence[Result], seconds: float) -> list[str]:
    """How many are correct, how they compare with MLX, and how long it took."""
    right = sum(result.status is Status.CORRECT for result in results)
    lines = [f"{right} of {len(results)} correct, in {numbers.duration(seconds)}."]
    verdicts = [result.measurement.verdict for result in results if result.measurement is not None]
    counts = [
        f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts
    ]
    if counts:
        lines.append(f"Against MLX: {', '.join(counts)}.")
    mean = suite_ratio(results)
    if mean is not None:
        lines[-1] += f" Geometric mean of the ratios: {numbers.ratio(mean)}."
    return lines
