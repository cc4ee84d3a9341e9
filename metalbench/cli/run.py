"""``metalbench run``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.capture import capture_after, capture_option, check_capture
from metalbench.cli.config import RunConfig
from metalbench.cli.counted import with_counts
from metalbench.cli.exporting import export
from metalbench.cli.gate import (
    Gate,
    annotate,
    gate_options,
    print_regressions,
)
from metalbench.cli.isolation import confinement_option, isolation_options
from metalbench.cli.machine import Machine, open_machine
from metalbench.cli.on import on_options
from metalbench.cli.output import result_options
from metalbench.cli.parameters import (
    SET_HELP,
    complete_names,
    dtype_option,
    kernel_options,
    oracle_option,
    seed_option,
    time_option,
)
from metalbench.cli.recording import enter_records, recording_option
from metalbench.cli.reporting import open_consoles, progress_on, report, report_on_failure
from metalbench.cli.trials import apply_tunings, list_trials
from metalbench.cli.warning import warn

if TYPE_CHECKING:
    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.comparison.regression import RegressionOutcome as Regressions
    from metalbench.comparison.result_set import Key
    from metalbench.errors import MetalBenchError
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial
    from metalbench.store import Store

TARGETS = ("speed", "compute", "memory", "stable", "balanced")
EXAMPLES = """\b
Examples:
  metalbench run
  metalbench run softmax
  metalbench run relu softmax --dtype all
  metalbench run --set standard --json results.json
  metalbench run relu --size seed --size large
  metalbench run softmax --against torch
  metalbench run softmax --tuned
  metalbench run --save main
  metalbench run --record --html run.html
  metalbench run --baseline main --max-regression 5% --junitxml results.xml
  metalbench run my_kernel --kernels ./my_kernels --time 5
  metalbench run answer.py --task softmax
  metalbench run softmax --on ssh://mac.local
  MTL_CAPTURE_ENABLED=1 metalbench run softmax --capture softmax.gputrace
"""


@click.command(epilog=EXAMPLES, short_help="Check kernels and time them against MLX.")
@click.argument("names", nargs=-1, metavar="[NAME|FILE.py]...", shell_complete=complete_names)
@click.option(
    "--task", metavar="NAME", help="Task of a FILE.py; by default the task with its name."
)
@click.option("--set", "set_name", metavar="SET", help=SET_HELP)
@click.option("--all", "set_name", flag_value="all", help="The library with all families.")
@click.option(
    "--size",
    "sizes",
    metavar="NAME",
    multiple=True,
    help="Size to time, such as seed, large or huge; by default the headline size of the device. "
    "Repeatable.",
)
@dtype_option(
    "dtypes",
    multiple=True,
    default=["float32"],
    show_default=True,
    help="Element type; all takes every type that a kernel is written for. Repeatable.",
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="speed",
    show_default=True,
    help="The score in the headline of a full report.",
)
@seed_option("Seed of the inputs and of the order of samples.")
@time_option(2.0, "Longest time to sample each kernel; the sampling of a steady one ends sooner.")
@oracle_option
@click.option(
    "--against",
    type=click.Choice(["torch"]),
    help="Time also against PyTorch's form of the task, on the same device.",
)
@result_options
@gate_options
@click.option("-q", "--quiet", is_flag=True, help="Print only faults and the summary.")
@click.option("-v", "--verbose", is_flag=True, help="Print warnings in full.")
@click.option(
    "--cold",
    is_flag=True,
    help="Use other copies of the inputs in each pass, which are not in a cache.",
)
@click.option(
    "--ab-control",
    is_flag=True,
    help="Time MLX against itself instead; the verdict must not be FASTER or SLOWER.",
)
@click.option(
    "--tuned",
    is_flag=True,
    help="Use the tunables that `metalbench tune` found on this device.",
)
@recording_option
@capture_option
@isolation_options
@confinement_option
@on_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first kernel that is not correct.")
@kernel_options
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> None:
    """Check kernels, time them against MLX, and store the results.

    Without a NAME the whole library runs; with a single one the full report is printed. A FILE.py
    calls mx.fast.metal_kernel itself: `class ModelNew`, or a function of the task's name. Every
    finished kernel is stored at once: Ctrl-C loses none.

    Exit codes: 0 all correct and nothing that --fail-on names; 1 otherwise; 2 wrong usage or
    environment; 130 interrupted. In GitHub Actions, faults are annotated at their lines.
    """
    config = RunConfig.of(options)
    if config.ab_control:
        ctx.exit(_run_control(config))
    with open_machine(config.machine, traces=config.capture is not None) as machine:
        ctx.exit(_run_kernels(config, machine))


def _run_control(config: RunConfig) -> int:
    from metalbench import _core
    from metalbench.cli.control import control, print_control
    from metalbench.report.judged import control_discoveries
    from metalbench.result.environment import environment
    from metalbench.run.observed import device_facts

    start = perf_counter()
    # The only kernel that runs is metalbench's probe of the clock.
    _core.run_apart(None)
    device = _core.open(config.machine.device)
    trials = list_trials(config.trials, device)
    out, log = open_consoles(config)
    warn(log, device)
    outcome = control(device, trials, progress_on(out, log, config.trials.seconds))
    outcome = replace(outcome, results=control_discoveries(outcome.results))
    report(out, outcome, config, perf_counter() - start)
    right = print_control(out, outcome.results)
    facts = device_facts(device)
    export(outcome, facts, environment(), config, seconds=perf_counter() - start)
    return Gate().exit_code(outcome) or int(not right)


def _run_kernels(config: RunConfig, machine: Machine) -> int:
    from metalbench.run.observed import device_facts
    from metalbench.store import Store, store_path

    start = perf_counter()
    device = machine.device
    # Read everything that can be wrong with the command line before any measurement.
    trials = list_trials(config.trials, device)
    if config.capture is not None:
        check_capture(device, trials)
    gate = Gate.of(config.gate, config.db, device)
    out, log = open_consoles(config)
    machine.warn(log)
    environment = machine.environment

    def measure_again(keys: set[Key]) -> Outcome:
        again = [
            each for each in trials if (each.entry.name, each.dtype, each.size_on(device)) in keys
        ]
        log.print(f"Measuring {len(again)} again, to be sure of what became slower")
        progress = progress_on(log, log, config.trials.seconds)
        unsaved = replace(config, recorded={**config.recorded, "save": None})
        return _try_kernels(machine, again, store, progress, unsaved)

    with Store(store_path(config.db)) as store:
        # Try the kernels and report the results.
        if config.tuned:
            trials = apply_tunings(trials, device, store, log)
        with report_on_failure(trials, config, (out, log), start) as progress:
            outcome = _try_kernels(machine, trials, store, progress, config)
        report(out, outcome, config, perf_counter() - start)
        if not config.quiet:
            seed = config.trials.seed
            out.print(f"Kept in {store.path}; --seed {seed} draws the same inputs", soft_wrap=True)
        # Compare with records and with earlier runs.
        if config.record:
            enter_records(out, machine, trials, store, outcome, log=log)
        found, fault = _regressions(gate, store, outcome)
        if found.regressed and outcome.ended == "finished":
            found = _confirm(gate, store, outcome, found, measure_again)
    if fault is None:
        print_regressions(out, gate, found, quiet=config.quiet)
    slower = found.regressed
    # Write traces and files.
    if config.capture is not None and outcome.ended != "interrupted":
        capture_after(out, machine, trials[0], outcome.results, config.capture)
    annotate(outcome, trials, slower, to_stderr=config.takes_stdout)
    facts, seconds = device_facts(device), perf_counter() - start
    export(outcome, facts, environment, config, slower=slower, seconds=seconds)
    if fault is not None:
        raise fault
    return gate.exit_code(outcome, found)


def _try_kernels(
    machine: Machine,
    trials: Sequence[Trial],
    store: Store,
    progress: LineProgress | LiveProgress,
    config: RunConfig,
) -> Outcome:
    """Run the trials, and judge the results together. Raises MachineError; results are stored."""
    from metalbench.report.judged import control_discoveries
    from metalbench.run.runner import run as run_trials

    with progress:
        outcome = run_trials(
            machine.device,
            trials,
            store,
            machine.environment,
            progress,
            recorded_options=config.recorded,
            fail_fast=config.fail_fast,
            attempts=machine.attempts,
        )
    outcome = replace(outcome, results=control_discoveries(outcome.results))
    return outcome if config.machine.in_process else with_counts(outcome, trials)


def _regressions(
    gate: Gate, store: Store, outcome: Outcome, *, without: Sequence[int] = ()
) -> tuple[Regressions, MetalBenchError | None]:
    """Return the regressions, or an error, which must not prevent the writing of files."""
    from metalbench.comparison.regression import RegressionOutcome as Regressions
    from metalbench.errors import MetalBenchError

    try:
        return gate.find_regressions(store, outcome, without=without), None
    except MetalBenchError as error:
        return Regressions(), error


def _confirm(
    gate: Gate,
    store: Store,
    outcome: Outcome,
    found: Regressions,
    measure_again: Callable[[set[Key]], Outcome],
) -> Regressions:
    """Measure suspected kernels again, in a separate run: other work may have ended by now."""
    second = measure_again({each.key for each in found.regressed})
    if outcome.number is None or not second.correct:
        return found
    of_second, fault = _regressions(gate, store, second, without=(outcome.number,))
    return found if fault is not None else found.after_another_run(of_second)
