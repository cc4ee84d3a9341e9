"""Show the progress of one measurement in a line of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from metalbench.cli.options import RunConfig
from metalbench.cli.trials import list_unsolved
from metalbench.errors import MetalBenchError

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.kernel.header import Kernel
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Described, Trial
    from metalbench.store.result import Result


# Drawing costs time during a measurement.
SECONDS_BETWEEN_DRAWINGS = 0.5


@contextmanager
def waiting(console: Console, title: str) -> Iterator[Callable[[float], None]]:
    """Show `title` with a fraction in this context; yield the function that sets the fraction."""
    from rich.live import Live
    from rich.text import Text

    if not console.is_terminal:
        yield lambda _: None
        return
    drawn = float("-inf")
    with Live(Text(title), console=console, auto_refresh=False, transient=True) as live:

        def tell(fraction: float) -> None:
            nonlocal drawn
            if monotonic() - drawn >= SECONDS_BETWEEN_DRAWINGS:
                drawn = monotonic()
                live.update(Text(f"{title}: {100 * fraction:.0f} %"), refresh=True)

        yield tell


# Print kernels that could not be tried for faults that are not theirs, such as a wrong task.


def print_untried(out: Console, reasons: Sequence[str]) -> None:
    """Print the reasons why kernels could not be tried."""
    from rich.text import Text

    for reason in reasons:
        out.print(Text("Not tried: ", style="red").append(reason, style=""), soft_wrap=True)


def print_unsolved(out: Console, names: Sequence[str], count: int) -> None:
    """Print the problems of a suite that have no kernel."""
    if names:
        out.print(
            f"No kernel yet for {len(names)} of {count} tasks: {', '.join(names)}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )


def print_remaining(log: Console, trials: Sequence[Trial], done: int) -> None:
    """Print the kernels that a failed run has not tried, and how to continue with them."""
    remaining = [each.entry.name for each in trials[done:]]
    if remaining:
        names = " ".join(dict.fromkeys(remaining))
        log.print(
            f"Not finished: {len(remaining)} of {len(trials)}. To go on, name them, with the "
            f"options as they were: metalbench run {names}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )


# Print the progress and the results of ``metalbench run``.


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
    from metalbench.measure.analysis import Target
    from metalbench.report.results import brief_report, full_report, suite_report

    results = outcome.results
    if outcome.ended == "interrupted":
        out.print(f"Interrupted. {_count_finished(results)}\n", style="yellow")
    elif outcome.ended == "stopped":
        out.print("Stopped at the first failure (--fail-fast).\n", style="yellow")
    if config.quiet:
        out.print(brief_report(results, seconds))
    elif len(results) == 1 and len(config.trials.names) == 1:
        out.print(full_report(results[0], Target(config.target), _find_machine_roof(results[0])))
        out.print()
    elif results:
        out.print(suite_report(results, out, seconds, verbose=config.verbose, order=config.sort))
    print_untried(out, outcome.untried)
    print_unsolved(out, *list_unsolved(config.trials))


def _find_machine_roof(result: Result) -> str:
    """Return the line of the roofline for a simulation, which this machine limits; else nothing.

    A page of HTML shows the same roof.
    """
    from metalbench.cli.machine import find_device_peaks
    from metalbench.measure.device_limits import last_level_cache_bytes
    from metalbench.report.results import describe_machine_roof

    if not result.device.simulated or result.analysis is None:
        return ""
    peaks, why = find_device_peaks(result.device, {result.case.dtype}, again=False)
    if peaks is None:
        return f"no roof: {why}"
    return describe_machine_roof(result, peaks, last_level_cache_bytes(result.device.chip))


def _count_finished(results: Sequence[Result]) -> str:
    from metalbench.report.numbers import count

    if not results:
        return "No kernel had finished."
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


# `metalbench run --predict CHIP`: predicted times of the kernels that were correct.


def print_predictions(
    out: Console,
    trials: Sequence[Trial],
    results: Sequence[Result],
    chip: GpuChip,
    device: Described,
) -> None:
    """Print the predicted time of each correct kernel, its interval and what limits it."""
    from metalbench.profiling.gpu_calibration import COVERAGE
    from metalbench.profiling.prediction import predict_kernel
    from metalbench.report.numbers import short_time
    from metalbench.report.terminal import plain_table
    from metalbench.store.result import Status

    own = {(each.entry.name, each.dtype, each.size_on(device)): each for each in trials}
    table = plain_table(terminal=out.is_terminal)
    table.add_column("kernel")
    table.add_column(f"predicted on {chip.name}", justify="right")
    table.add_column(f"{100 * COVERAGE:.0f} % interval", justify="right")
    table.add_column("limited by")
    for result in results:
        case = result.case
        trial = own.get((case.task, case.dtype, case.size))
        if trial is None or result.status is not Status.CORRECT or trial.kernel.is_python:
            continue
        try:
            found = predict_kernel(
                *(find_kernel_of_chip(trial, device, chip), trial.entry.task, case.size, chip),
                dtype_name=case.dtype,
                tunables=None if trial.tuning else trial.tunables,
            )
        except MetalBenchError as error:
            table.add_row(case.task, "-", "", str(error).partition("\n")[0])
            continue
        low, middle, high = (
            short_time(1e9 * each) for each in (found.low_s, found.seconds, found.high_s)
        )
        limit = next(name for name in found.parts if name != "command buffer")
        table.add_row(case.task, middle, f"{low} to {high}", limit)
    out.print("\nPredictions, not measurements:")
    out.print(table)


def find_kernel_of_chip(trial: Trial, device: Described, chip: GpuChip) -> Kernel:
    """Return the kernel of a trial as it is on the chip: another file, other defaults.

    A candidate that is not the library's file keeps its text.
    """
    from metalbench.kernel.header import device_names

    if trial.kernel.path == trial.entry.kernel(device, dtype=trial.dtype).path:
        kernel = trial.entry.kernel(chip.target, dtype=trial.dtype)
        return replace(kernel, include_dirs=trial.kernel.include_dirs)
    return trial.kernel.on(device_names(chip.target))
