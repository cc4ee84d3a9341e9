"""Summaries of a run: its lines, the mean of its ratios, and verdicts that hold together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from metalbench.report import numbers
from metalbench.stats import (
    FALSE_DISCOVERY_RATE,
    Interval,
    Verdict,
    assess_suite,
    geometric_mean,
)
from metalbench.store.result import Result, Status


def explain_ends(results: Sequence[Result]) -> Iterator[str]:
    """Yield the meanings of the special interval notations in the results."""
    timed = [result.measurement for result in results if result.measurement is not None]
    intervals = [
        each
        for measured in timed
        for each in (
            measured.candidate_ns,
            measured.reference_ns,
            measured.gpu_ns,
            measured.ratio,
        )
        if each is not None
    ]
    ends = [each.useful_ends for each in intervals]
    if (None, None) in ends:
        yield numbers.UNCARRIED_MEANS
    if any((low is None) != (high is None) for low, high in ends):
        yield numbers.ONE_SIDED_MEANS


# Summary of a run with several kernels.


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


# Verdicts of a run with several kernels, with control of the false discovery rate.


def control_discoveries(results: Sequence[Result]) -> tuple[Result, ...]:
    """Return the results, with differences that are not significant together INCONCLUSIVE.

    Each verdict is of one kernel; among a hundred equal kernels some look faster by chance. The
    reason is added to the results that change.
    """
    places = [place for place, result in enumerate(results) if _has_ratio_verdict(result)]
    measurements = [results[place].measurement for place in places]
    alone = [each.judgement for each in measurements if each and each.judgement]
    together = list(results)
    for place, judgement in zip(places, assess_suite(alone), strict=True):
        measured = results[place].measurement
        if measured is not None and measured.verdict is not judgement.verdict:
            changed = replace(measured, verdict=judgement.verdict, judgement=judgement)
            together[place] = replace(results[place], measurement=changed)
    return tuple(together)


def discovery_line(results: Sequence[Result]) -> str | None:
    """Return the statement on the false discovery rate; None for fewer than two verdicts."""
    timed = [result.measurement for result in results if _has_ratio_verdict(result)]
    judgements = [each.judgement for each in timed if each is not None]
    count = sum(each is not None and each.is_decided_by_interval for each in judgements)
    if count < 2:
        return None
    return (
        f"Of FASTER and SLOWER among these {count} verdicts at most {FALSE_DISCOVERY_RATE:.0%} "
        "are expected to be chance (Benjamini-Hochberg)."
    )


def _has_ratio_verdict(result: Result) -> bool:
    """Return whether a result has a verdict from its ratio."""
    measured = result.measurement
    return (
        measured is not None
        and measured.judgement is not None
        and measured.verdict is measured.judgement.verdict
        and measured.verdict is not Verdict.THROTTLED
    )
