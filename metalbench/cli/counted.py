"""Count the bytes of a kernel that was run alone, in addition to its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metalbench.errors import MetalBenchError
from metalbench.report.console import echo

if TYPE_CHECKING:
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial


def with_counts(outcome: Outcome, trials: Sequence[Trial]) -> Outcome:
    """Return the outcome with counted bytes, if it has one kernel that was timed.

    A kernel that cannot be counted gets a note on stderr.
    """
    if len(trials) != 1 or outcome.ended != "finished":
        return outcome
    (trial,) = trials
    results = outcome.results
    if len(results) != 1 or results[0].measurement is None:
        return outcome
    from metalbench.run.counted import count_bytes

    try:
        counted = count_bytes(trial, results[0].device)
    except MetalBenchError as error:
        echo(f"The bytes of one pass could not be counted: {error}", err=True)
        return outcome
    return replace(outcome, results=(replace(results[0], counted=counted),))
