"""Print the progress and the results of ``metalbench run``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from metalbench.cli.config import RunConfig
from metalbench.cli.trials import list_unsolved
from metalbench.cli.untried import print_remaining, print_unsolved, print_untried

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.result import Result
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial


def open_consoles(config: RunConfig) -> tuple[Console, Console]:
    """Return the console of the report and the console of messages."""
    from metalbench.report.console import console

    return console(to_stderr=config.takes_stdout), console(to_stderr=True, quiet=config.quiet)


def progress_on(out: Console, log: Console, seconds: float) -> LineProgress | LiveProgress:
    """Return an observer that prints progress: on a terminal as a line that changes."""
    from metalbench.cli.progress import LineProgress, LiveProgress

    if log.is_terminal and out.is_terminal and not log.quiet:
        return LiveProgress(out, seconds)
    return LineProgress(log, seconds)


def report(out: Console, outcome: Outcome, config: RunConfig, seconds: float) -> None:
    """Print the results of a run of `seconds`: one kernel in full, many in a table."""
    from metalbench.analysis import Target
    from metalbench.report.single import full_report
    from metalbench.report.suite import brief_report, suite_report

    results = outcome.results
    if outcome.ended == "interrupted":
        out.print(f"Interrupted. {_count_finished(results)}\n", style="yellow")
    elif outcome.ended == "stopped":
        out.print("Stopped at the first failure (--fail-fast).\n", style="yellow")
    if config.quiet:
        out.print(brief_report(results, seconds))
    elif len(results) == 1 and len(config.trials.names) == 1:
        out.print(full_report(results[0], Target(config.target)))
        out.print()
    elif results:
        out.print(suite_report(results, out, seconds, verbose=config.verbose))
    print_untried(out, outcome.untried)
    print_unsolved(out, *list_unsolved(config.trials))


def _count_finished(results: Sequence[Result]) -> str:
    from metalbench.report.numbers import count

    kept = "is kept" if len(results) == 1 else "are kept"
    return f"{count(len(results), 'kernel')} had finished and {kept}."


@contextmanager
def report_on_failure(
    trials: Sequence[Trial], config: RunConfig, consoles: tuple[Console, Console], start: float
) -> Iterator[LineProgress | LiveProgress]:
    """Return the observer of a run; if the machine fails, report the results so far."""
    from metalbench.errors import MachineError
    from metalbench.run.runner import Outcome

    out, log = consoles
    progress = progress_on(out, log, config.trials.seconds)
    try:
        yield progress
    except MachineError:
        shown = Outcome(tuple(progress.results), "failed")
        report(out, shown, config, perf_counter() - start)
        print_remaining(log, trials, progress.next)
        raise
