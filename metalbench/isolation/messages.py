"""What a run and its workers tell each other: names of messages, and the type of what each has."""

from __future__ import annotations

from functools import cache
from typing import Any

NOTHING = type(None)


@cache
def of_workers() -> dict[str, Any]:
    """What workers send."""
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
    }


@cache
def of_runs() -> dict[str, Any]:
    """What runs send to their workers."""
    from metalbench.run.trial import Trial

    return {"prepare": Trial, "try": Trial, "begin": NOTHING, "go on": NOTHING}
