"""Colours by meaning."""

from metalbench.result import Status
from metalbench.stats import Verdict

STATUS_STYLES = {Status.CORRECT: "green", Status.INCORRECT: "bold red", Status.FAILED: "bold red"}
STATUS_STYLES[Status.NOT_OWN] = "bold red"
VERDICT_STYLES = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.SAME: "blue",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.THROTTLED: "yellow",
}
HEADING = "bold"
QUIET = "dim"
WARNING = "yellow"
