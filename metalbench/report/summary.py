"""Summary of a run with several kernels."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.report import numbers
from metalbench.result import Result, Status
from metalbench.stats import Interval, Verdict, geometric_mean


def suite_ratio(results: Sequence[Result]) -> Interval | None:
    """Return the geometric mean of the ratios with an interval; None if fewer than two have one."""
    ratios = [ratio for ratio in map(_ratio, results) if ratio is not None]
    return geometric_mean(ratios) if len(ratios) > 1 else None


def list_left_out(results: Sequence[Result]) -> list[str]:
    """Return the kernels outside of the mean: incorrect, failed, not compared, or no interval."""
    several = len({result.case.dtype for result in results}) > 1
    return [
        f"{result.case.task} ({result.case.dtype})" if several else result.case.task
        for result in results
        if _ratio(result) is None
    ]


def _ratio(result: Result) -> Interval | None:
    """Return the ratio if it has an interval."""
    ratio = result.measurement.ratio if result.measurement is not None else None
    return ratio if ratio is not None and None not in ratio.useful_ends else None


def summary_lines(results: Sequence[Result], seconds: float) -> list[str]:
    """Return the number of correct kernels, the verdicts against MLX, and the duration."""
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
        covered = describe_coverage(len(results), list_left_out(results))
        lines[-1] += f" Geometric mean of the ratios of {covered}: {numbers.ratio(mean)}."
    return lines


def describe_coverage(total: int, names: Sequence[str]) -> str:
    """Return ``all 20 kernels``, or ``18 of 20 kernels (without conv2d, gelu)``."""
    if not names:
        return f"all {numbers.count(total, 'kernel')}"
    kernels = numbers.count(total, "kernel")
    return f"{total - len(names)} of {kernels} (without {', '.join(names)})"
