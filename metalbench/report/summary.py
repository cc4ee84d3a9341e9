"""What a run of many amounts to."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.report import numbers
from metalbench.result import Result, Status
from metalbench.stats import Interval, Verdict, geometric_mean


def suite_ratio(results: Sequence[Result]) -> Interval | None:
    """Geometric mean of the ratios that carry an interval; None if fewer than two do."""
    ratios = [ratio for ratio in map(_ratio, results) if ratio is not None]
    return geometric_mean(ratios) if len(ratios) > 1 else None


def left_out(results: Sequence[Result]) -> list[str]:
    """Names of the kernels that the mean leaves out: incorrect, failed, not compared, or few."""
    several = len({result.case.dtype for result in results}) > 1
    return [
        f"{result.case.task} ({result.case.dtype})" if several else result.case.task
        for result in results
        if _ratio(result) is None
    ]


def _ratio(result: Result) -> Interval | None:
    """The ratio, if it carries an interval."""
    ratio = result.measurement.ratio if result.measurement is not None else None
    return ratio if ratio is not None and None not in ratio.useful_ends else None


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
        covered = covering(len(results), left_out(results))
        lines[-1] += f" Geometric mean of the ratios of {covered}: {numbers.ratio(mean)}."
    return lines


def covering(total: int, names: Sequence[str]) -> str:
    """``all 20 kernels``, or ``18 of 20 kernels (without conv2d, gelu)``: what a mean is of."""
    if not names:
        return f"all {numbers.count(total, 'kernel')}"
    kernels = numbers.count(total, "kernel")
    return f"{total - len(names)} of {kernels} (without {', '.join(names)})"
