"""Messages between a run and its workers: names and value types."""

from __future__ import annotations

from functools import cache
from typing import Any

NOTHING = type(None)


@cache
def list_worker_messages() -> dict[str, Any]:
    """Return the messages that workers send."""
    from metalbench.comparison.match import MatchOutcome
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
        "outcome": MatchOutcome,
        # These end a trial without a fault of the kernel: a problem of the machine, and a problem
        # of the task's file or of the request.
        "machine": str,
        "untried": str,
        # The system ended a GPU run because of other work on the GPU.
        "disturbed": str,
    }


@cache
def list_run_messages() -> dict[str, Any]:
    """Return the messages that runs send."""
    from metalbench.comparison.match import Match
    from metalbench.run.trial import Trial

    return {
        "prepare": Trial,
        "try": Trial,
        "play": Match,
        "begin": NOTHING,
        "go on": NOTHING,
    }
