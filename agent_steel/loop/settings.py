"""How a loop goes on, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_steel.attempt import Attempt
from agent_steel.proposal import Diagnosis
from agent_steel.subject import Subject
from metalbench.analysis import Target

Strategy = Literal["greedy", "beam"]
MOST_IDLE_ROUNDS = 2
BEAM = 3


@dataclass(frozen=True)
class Settings:
    """Limits of a loop.

    A round asks for `candidates` versions of every lineage. `greedy` has one lineage, the best so
    far; `beam` keeps `lineages` of them. A kernel is done after `max_rounds`, or after
    `max_idle_rounds` that kept nothing; the loop is after `budget_s` seconds, None being no limit.
    """

    max_rounds: int = 1
    max_idle_rounds: int = MOST_IDLE_ROUNDS
    candidates: int = 1
    strategy: Strategy = "greedy"
    lineages: int = BEAM
    parallel: int = 1
    budget_s: float | None = None
    target: Target = Target.SPEED

    @property
    def width(self) -> int:
        """How many lineages there may be."""
        return self.lineages if self.strategy == "beam" else 1


class Listener(Protocol):
    """Hears how a loop goes on."""

    def started(self, subject: Subject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Report that a kernel was measured, and what bounds it."""

    def round_started(self, subject: Subject, number: int, most: int) -> None:
        """Proposals of a round are asked for."""

    def told(self, subject: Subject, text: str) -> None:
        """Report the progress of a proposer or of the verifier."""

    def judged(self, subject: Subject, attempt: Attempt) -> None:
        """What became of an attempt is known and kept."""

    def ended(self, subject: Subject, reason: str) -> None:
        """No more is tried with a kernel."""


class Unheard:
    """A listener that tells nobody."""

    def started(self, subject: Subject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Not told."""

    def round_started(self, subject: Subject, number: int, most: int) -> None:
        """Not told."""

    def told(self, subject: Subject, text: str) -> None:
        """Not told."""

    def judged(self, subject: Subject, attempt: Attempt) -> None:
        """Not told."""

    def ended(self, subject: Subject, reason: str) -> None:
        """Not told."""


Clock = Callable[[], float]
