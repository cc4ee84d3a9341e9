"""What the Welder and the process that checks its drafts tell each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """A draft to check: NAME.py and NAME.metal in `folder`.

    `reference` is the user's own file, whose `function` says what is right ('' if it has but one).
    """

    name: str
    folder: Path
    reference: Path | None = None
    function: str = ""
    seed: int = 0


@dataclass(frozen=True)
class Fault:
    """What is wrong with a draft, and at which stage that was found."""

    stage: str
    message: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.message}"


@dataclass(frozen=True)
class Checked:
    """What checking found; `checks` says what was checked, and how near to its limit it came."""

    faults: tuple[Fault, ...] = ()
    checks: tuple[str, ...] = field(default=())


@cache
def of_workers() -> dict[str, Any]:
    """What the process sends; "machine" is what the machine lacks, and no draft is to blame."""
    return {"open": str, "stage": str, "checked": Checked, "machine": str}


@cache
def of_welders() -> dict[str, Any]:
    """What it is sent."""
    return {"check": Job, "end": type(None)}
