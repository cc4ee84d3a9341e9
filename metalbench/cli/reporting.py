"""What ``metalbench run`` tells: of kernels as they are tried, and of their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from metalbench.cli.output import is_taken
from metalbench.cli.trials import unsolved
from metalbench.cli.untried import tell_remaining, tell_unsolved, tell_untried

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.result import Result
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial


def consoles(options: Mapping[str, Any]) -> tuple[Console, Console]:
    """Where the report goes, unless results take its place, and where messages go."""
    from metalbench.report.console import console

    return console(to_stderr=is_taken(options)), console(to_stderr=True, quiet=options["quiet"])


def progress_on(out: Console, log: Console, seconds: float) -> LineProgress | LiveProgress:
    """How kernels are told of as they are tried: on a terminal as a line that changes."""
    from metalbench.cli.progress import LineProgress, LiveProgress

    if log.is_terminal and out.is_terminal and not log.quiet:
        return LiveProgress(out, seconds)
    return LineProgress(log, seconds)


def report(out: Console, outcome: Outcome, options: Mapping[str, Any], seconds: float) -> None:
    """Print what a run of `seconds` came to: one kernel in full, of many a table."""
    from metalbench.analysis import Target
    from metalbench.report.single import full_report
    from metalbench.report.suite import brief_report, suite_report

    results = outcome.results
    if outcome.ended == "interrupted":
        out.print(f"Interrupted. {_finished(results)}\n", style="yellow")
    elif outcome.ended == "stopped":
        out.print("Stopped at the first failure (--fail-fast).\n", style="yellow")
    if options["quiet"]:
        out.print(brief_report(results, seconds))
    elif len(results) == 1 and len(options["names"]) == 1:
        out.print(full_report(results[0], Target(options["target"])))
        out.print()
    elif results:
        out.print(suite_report(results, out, seconds, verbose=options["verbose"]))
    tell_untried(out, outcome.untried)
    tell_unsolved(out, *unsolved(options))


def _finished(results: Sequence[Result]) -> str:
    from metalbench.report.numbers import count

    kept = "is kept" if len(results) == 1 else "are kept"
    return f"{count(len(results), 'kernel')} had finished and {kept}."


@contextmanager
def told_on_failure(
    trials: Sequence[Trial],
    options: Mapping[str, Any],
    told_on: tuple[Console, Console],
    start: float,
) -> Iterator[LineProgress | LiveProgress]:
    """Where kernels are told of as they are tried; where the machine fails, what was found."""
    from metalbench.errors import MachineError
    from metalbench.run.runner import Outcome

    out, log = told_on
    progress = progress_on(out, log, options["seconds"])
    try:
        yield progress
    except MachineError:
        shown = Outcome(tuple(progress.results), "failed")
        report(out, shown, options, perf_counter() - start)
        tell_remaining(log, trials, progress.next)
        raise
