"""A line for everything that happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Status
from agent_steel.history.lineage import why
from agent_steel.target import Target, merit

if TYPE_CHECKING:
    from rich.console import Console

    from agent_steel.proposal import Diagnosis
    from agent_steel.subject import Subject

STYLES = {
    Status.KEPT: "green",
    Status.WRONG: "red",
    Status.BROKEN: "red",
    Status.UNUSABLE: "yellow",
}

# The name of an attempt without a readable answer.
NO_ANSWER = "no answer"


def outcome(attempt: Attempt) -> str:
    """Describe the status of an attempt in one line."""
    from metalbench.report import numbers

    ratio = "" if attempt.ratio is None else f" {numbers.ratio(attempt.ratio)}"
    if (steady := merit(Target.STABLE, attempt.ratio, attempt.steadiness)) != 1.0:
        ratio += f", {steady:.2g}x as steady"
    reason = "" if attempt.status in (Status.KEPT, Status.BASELINE) else f": {why(attempt)}"
    return f"{attempt.status.value}{ratio}{reason}"


def format_tunables(attempt: Attempt) -> str:
    """Return the technique of an attempt, with the values of its tunables."""
    from metalbench.result.tuning import format_tunables

    values = f" ({format_tunables(attempt.tunables)})" if attempt.tunables else ""
    return f"{attempt.technique or attempt.summary or NO_ANSWER}{values}"


class ProgressPrinter:
    """A listener that prints progress."""

    def __init__(self, log: Console) -> None:
        self._log = log

    def on_start(self, subject: Subject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Print the bottleneck of the best version."""
        times = [each.value for each in diagnosis.facts if each.name == "time of one pass"]
        took = f"{times[0]}. " if times else ""
        self._say(subject, f"attempt {best.number} is the best so far: {took}{diagnosis.text}")

    def on_round_start(self, subject: Subject, number: int, most: int) -> None:
        """Print the number of the round."""
        self._say(subject, f"round {number} of {most}")

    def on_message(self, subject: Subject, text: str) -> None:
        """Print a message."""
        self._say(subject, text, style="bright_black")

    def on_judgement(self, subject: Subject, attempt: Attempt) -> None:
        """Print the status of an attempt."""
        text = f"attempt {attempt.number}, {format_tunables(attempt)}: {outcome(attempt)}"
        self._say(subject, text, style=STYLES.get(attempt.status))

    def on_end(self, subject: Subject, reason: str) -> None:
        """Print why the search ended."""
        self._say(subject, f"done: {reason}")

    def _say(self, subject: Subject, text: str, style: str | None = None) -> None:
        self._log.print(f"[{subject.entry.name}] {text}", style=style, soft_wrap=True)
