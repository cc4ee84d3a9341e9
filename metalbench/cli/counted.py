"""What a kernel that was run alone asks of memory, beside its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial


def with_counts(outcome: Outcome, trials: Sequence[Trial]) -> Outcome:
    """The same with counted bytes, if there was but one kernel, and it was timed to the end."""
    if len(trials) != 1 or outcome.ended != "finished":
        return outcome
    (trial,) = trials
    results = outcome.results
    if len(results) != 1 or results[0].measurement is None:
        return outcome
    from metalbench.run.counted import counted_bytes

    counted = counted_bytes(trial, results[0].device.kind)
    return replace(outcome, results=(replace(results[0], counted=counted),))
