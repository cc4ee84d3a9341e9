"""Verdicts of a run with several kernels, with control of the false discovery rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metalbench.result import Result
from metalbench.stats import FALSE_DISCOVERY_RATE, Verdict, assess_suite


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
