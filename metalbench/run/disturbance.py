"""Trials that the system has disturbed are begun again, and the result tells of it."""

from __future__ import annotations

from collections.abc import Callable

from metalbench.errors import Disturbed
from metalbench.result import Result

RERUNS = 2

# Given the notes so far, and whether a disturbance is to be the result's failure.
Attempt = Callable[[list[str], bool], Result]


def undisturbed(attempt: Attempt) -> Result:
    """Attempt a trial from its start, up to twice more after a Disturbed; the last one counts."""
    notes: list[str] = []
    for _ in range(RERUNS):
        try:
            return attempt(notes, False)
        except Disturbed as error:
            notes.append(f"all was run again, because the system had ended a run: {error}")
    return attempt(notes, True)
