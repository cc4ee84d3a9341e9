"""A line for everything that happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Fate
from agent_steel.history.lineage import why
from agent_steel.target import Target, merit

if TYPE_CHECKING:
    from rich.console import Console

    from agent_steel.proposal import Diagnosis
    from agent_steel.subject import Subject

STYLES = {Fate.KEPT: "green", Fate.WRONG: "red", Fate.BROKEN: "red", Fate.UNUSABLE: "yellow"}

# What an attempt is called of which nothing could be read.
NO_ANSWER = "no answer"


def outcome(attempt: Attempt) -> str:
    """What became of an attempt, in a line."""
    from metalbench.report import numbers

    ratio = "" if attempt.ratio is None else f" {numbers.ratio(attempt.ratio)}"
    if (steady := merit(Target.STABLE, attempt.ratio, attempt.steadiness)) != 1.0:
        ratio += f", {steady:.2g}x as steady"
    reason = "" if attempt.fate in (Fate.KEPT, Fate.BASELINE) else f": {why(attempt)}"
    return f"{attempt.fate.value}{ratio}{reason}"


def spelled_out(attempt: Attempt) -> str:
    """Return the technique of an attempt, with the values of its tunables."""
    from metalbench.result.tuning import spelled

    values = f" ({spelled(attempt.tunables)})" if attempt.tunables else ""
    return f"{attempt.technique or attempt.summary or NO_ANSWER}{values}"


class Progress:
    """Prints what a listener hears."""

    def __init__(self, log: Console) -> None:
        self._log = log

    def started(self, subject: Subject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Tell what bounds the best version."""
        times = [each.value for each in diagnosis.facts if each.name == "time of one pass"]
        took = f"{times[0]}. " if times else ""
        self._say(subject, f"attempt {best.number} is the best so far: {took}{diagnosis.text}")

    def round_started(self, subject: Subject, number: int, most: int) -> None:
        """Tell which round it is."""
        self._say(subject, f"round {number} of {most}")

    def told(self, subject: Subject, text: str) -> None:
        """Pass it on."""
        self._say(subject, text, style="bright_black")

    def judged(self, subject: Subject, attempt: Attempt) -> None:
        """Tell what became of an attempt."""
        text = f"attempt {attempt.number}, {spelled_out(attempt)}: {outcome(attempt)}"
        self._say(subject, text, style=STYLES.get(attempt.fate))

    def ended(self, subject: Subject, reason: str) -> None:
        """Tell why no more is tried."""
        self._say(subject, f"done: {reason}")

    def _say(self, subject: Subject, text: str, style: str | None = None) -> None:
        self._log.print(f"[{subject.entry.name}] {text}", style=style, soft_wrap=True)
