"""What a run of many kernels allows to be said of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metalbench.result import Result
from metalbench.stats import FALSE_DISCOVERY_RATE, Verdict, assess_suite


def judged_together(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results, with the differences that so many kernels explain made INCONCLUSIVE.

    Each verdict was found for its kernel alone; among a hundred kernels that are all the same some
    look faster. The reason is added to the results that change.
    """
    places = [place for place, result in enumerate(results) if _judged(result)]
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
    """What was done about chance among many verdicts; None where there are fewer than two."""
    timed = [result.measurement for result in results if _judged(result)]
    judgements = [each.judgement for each in timed if each is not None]
    count = sum(each is not None and each.is_decided_by_interval for each in judgements)
    if count < 2:
        return None
    return (
        f"Of FASTER and SLOWER among these {count} verdicts at most {FALSE_DISCOVERY_RATE:.0%} "
        "are expected to be chance (Benjamini-Hochberg)."
    )


def _judged(result: Result) -> bool:
    """Whether a result has a verdict that rests on its ratio."""
    measured = result.measurement
    return (
        measured is not None
        and measured.judgement is not None
        and measured.verdict is measured.judgement.verdict
        and measured.verdict is not Verdict.THROTTLED
    )
