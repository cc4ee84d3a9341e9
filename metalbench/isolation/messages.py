"""What a run and its workers tell each other: names of messages, and the type of what each has."""

from __future__ import annotations

from functools import cache
from typing import Any

NOTHING = type(None)


@cache
def list_worker_messages() -> dict[str, Any]:
    """What workers send."""
    from metalbench.comparison.match import Outcome
    from metalbench.result import Case, Result
    from metalbench.run.stages import Stage

    return {
        "open": str,
        "ready": NOTHING,
        "case": Case,
        "stage": Stage,
        "detail": str,
        "progress": float,
        "result": Result,
        "outcome": Outcome,
        # These end a trial, and no kernel is to blame: what the machine lacks, and what is wrong
        # with the task's file or with what was asked for.
        "machine": str,
        "untried": str,
        # The system has ended a run on the GPU for what others did there.
        "disturbed": str,
    }


@cache
def list_run_messages() -> dict[str, Any]:
    """What runs send to their workers."""
    from metalbench.comparison.match import Match
    from metalbench.run.trial import Trial

    return {
        "prepare": Trial,
        "try": Trial,
        "play": Match,
        "begin": NOTHING,
        "go on": NOTHING,
    }
