"""Trials that the system has disturbed are begun again, and the result tells of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from metalbench.errors import Disturbed

RERUNS = 2
Found = TypeVar("Found")


def undisturbed(attempt: Callable[[list[str], bool], Found]) -> Found:
    """Attempt a trial from its start, up to twice more after a Disturbed; the last one counts.

    `attempt` is given the notes so far, and whether a disturbance is to be the result's failure.
    """
    notes: list[str] = []
    for _ in range(RERUNS):
        try:
            return attempt(notes, False)
        except Disturbed as error:
            notes.append(f"all was run again, because the system had ended a run: {error}")
    return attempt(notes, True)
