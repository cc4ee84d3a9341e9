"""Colours, by what they mean."""

from metalbench.result import Status
from metalbench.stats import Verdict

OF_STATUS = {Status.CORRECT: "green", Status.INCORRECT: "bold red", Status.FAILED: "bold red"}
OF_STATUS[Status.NOT_OWN] = "bold red"
OF_VERDICT = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.SAME: "blue",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.THROTTLED: "yellow",
}
HEADING = "bold"
QUIET = "dim"
WARNING = "yellow"
