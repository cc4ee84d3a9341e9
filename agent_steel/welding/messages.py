"""What the Welder and the process that checks its drafts tell each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """A draft to check: NAME.py, and NAME.metal if `has_kernel`, in `folder`.

    `reference` is the user's own file, whose `function` says what is right ('' if it has but one),
    or a StableHLO program that MetalBench's own compiler evaluates in float64.
    """

    name: str
    folder: Path
    reference: Path | None = None
    function: str = ""
    seed: int = 0
    has_kernel: bool = True


@dataclass(frozen=True)
class Fault:
    """A defect of a draft, and the stage that found it."""

    stage: str
    message: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.message}"


@dataclass(frozen=True)
class CheckResult:
    """The result of checking. `checks` describe each check and its distance to the limit."""

    faults: tuple[Fault, ...] = ()
    checks: tuple[str, ...] = field(default=())


@cache
def of_workers() -> dict[str, Any]:
    """Return the types of messages from the process; "machine" is an error of the machine."""
    return {"open": str, "stage": str, "checked": CheckResult, "machine": str}


@cache
def of_welders() -> dict[str, Any]:
    """Return the types of messages to the process."""
    return {"check": Job, "end": type(None)}
