"""``metalbench run``: options, the gate against a baseline, and counts of correct kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.group import COMMAND_LINE, CommandFailure
from metalbench.cli.interruption import INTERRUPTED
from metalbench.cli.machine import Machine, on_options, open_machine, warn
from metalbench.cli.options import (
    QUICK_SECONDS,
    SET_HELP,
    GateConfig,
    RunConfig,
    apply_quick,
    baseline_name,
    complete_names,
    confinement_option,
    dtype_option,
    isolation_options,
    kernel_options,
    oracle_option,
    parse_share,
    recheck_option,
    result_set,
    seed_option,
    standard_option,
    time_option,
    writable,
)
from metalbench.cli.output import export, result_options
from metalbench.cli.reporting import open_consoles, progress_on, report, report_on_failure
from metalbench.cli.trials import apply_tunings, list_trials
from metalbench.errors import MetalBenchError
from metalbench.report.console import echo, echo_workflow_command

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device
    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.compare import Ruling
    from metalbench.compare.comparison import Regression, RunComparison
    from metalbench.compare.comparison import RegressionOutcome as Regressions
    from metalbench.compare.results import Key, ResultSet
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Described, Trial
    from metalbench.store.result import Result
    from metalbench.store.store import Store


def with_counts(outcome: Outcome, trials: Sequence[Trial]) -> Outcome:
    """Return the outcome with counted bytes, if it has one kernel that was timed.

    A kernel that cannot be counted gets a note on stderr.
    """
    if len(trials) != 1 or outcome.ended != "finished":
        return outcome
    (trial,) = trials
    results = outcome.results
    if len(results) != 1 or results[0].measurement is None:
        return outcome
    from metalbench.run.single_pass import count_bytes

    try:
        counted = count_bytes(trial, results[0].device)
    except MetalBenchError as error:
        echo(f"The bytes of one pass could not be counted: {error}", err=True)
        return outcome
    return replace(outcome, results=(replace(results[0], counted=counted),))


# ``metalbench run NAME --capture FILE.gputrace``.

Command = TypeVar("Command", bound=Callable[..., Any])
SUFFIX = ".gputrace"


def _new_trace(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Raise BadParameter for a path that Metal would refuse, before anything is measured."""
    if value is not None:
        if value.suffix != SUFFIX:
            message = f"expected a name that ends in {SUFFIX}, got {value}"
            raise click.BadParameter(message, ctx, parameter)
        if value.exists():
            raise click.BadParameter(
                f"{value} exists already; remove it or name another", ctx, parameter
            )
    return writable(ctx, parameter, value)


def capture_option(command: Command) -> Command:
    """``--capture``."""
    return click.option(
        "--capture",
        type=click.Path(path_type=Path),
        callback=_new_trace,
        metavar=f"FILE{SUFFIX}",
        help="Of a single kernel: leave a GPU trace for Xcode. Needs MTL_CAPTURE_ENABLED=1.",
    )(command)


def check_capture(device: Described, trials: Sequence[Trial]) -> None:
    """Raise an error for a capture of several kernels, or on a device that makes none."""
    from metalbench.run.single_pass import check_captures

    if len(trials) != 1:
        raise click.UsageError(
            f"--capture: expected one kernel of one element type, got {len(trials)}; name it, as "
            f"in `metalbench run softmax --capture softmax{SUFFIX}`"
        )
    check_captures(device)


def capture_after(
    out: Console, machine: Machine, trial: Trial, results: Sequence[Result], path: Path
) -> None:
    """Capture a kernel that ran, with right or wrong results."""
    from metalbench.store.result import Status

    if not results or results[0].status is Status.FAILED:
        out.print(f"Not captured: {trial.entry.name} did not run.", style="yellow")
        return
    machine.capture(trial, path)
    out.print(f"Captured in {path}; `open {path}` shows it in Xcode.", soft_wrap=True)


# ``metalbench run --record``: correct kernels become records if no record is faster.

ORIGIN = "run"


def recording_option(command: Command) -> Command:
    """``--record``."""
    return click.option(
        "--record",
        is_flag=True,
        help="Let correct kernels become records (see `metalbench leaderboard`): where there is "
        "one, both are run in pairs, 5 s and once more.",
    )(command)


def enter_records(
    out: Console,
    machine: Machine,
    trials: Sequence[Trial],
    store: Store,
    of: Outcome,
    *,
    log: Console,
) -> None:
    """Enter every correct result of a run that was not interrupted; print the rulings.

    Errors and Ctrl-C are printed: they must not prevent the writing of reports and files.
    """
    from metalbench.errors import MetalBenchError
    from metalbench.report.leaderboard import ruling_lines

    if of.number is None or of.ended == "interrupted":
        return
    by_key = {(each.entry.name, each.dtype, _size(each, machine)): each for each in trials}
    rulings: list[Ruling] = []
    for entry in store.results(of.number):
        if entry.status != "correct":
            continue
        trial = by_key[entry.task, entry.dtype, entry.size]
        try:
            rulings.append(_rule_on(log, machine, store, trial, entry.id))
        except MetalBenchError as error:
            out.print(f"{entry.task}: no record: {error}", style="red", soft_wrap=True)
        except KeyboardInterrupt:
            out.print("Interrupted: the rest have not met their records.", style="yellow")
            break
    for line in ruling_lines(rulings):
        out.print(line, soft_wrap=True)


def _rule_on(log: Console, machine: Machine, store: Store, trial: Trial, result: int) -> Ruling:
    from metalbench.cli.reporting import waiting
    from metalbench.compare import enter

    with waiting(log, f"{trial.entry.name} against the record") as progress:
        return enter(
            machine.device,
            store,
            trial,
            result,
            origin=ORIGIN,
            site=machine.site,
            progress=progress,
        )


def _size(trial: Trial, machine: Machine) -> str:
    from metalbench.errors import TaskError

    try:
        return trial.size_on(machine.device)
    except TaskError:
        return ""


# ``metalbench run --ab-control``: MLX against itself, and one kernel by MLX and by metalbench.


def control(
    device: Device, trials: Sequence[Trial], progress: LineProgress | LiveProgress
) -> Outcome:
    """Time each task's reference against itself; with a GPU, also one kernel by MLX.

    Results are not stored, because they are not results of kernels.
    """
    from metalbench.errors import DeclarationError
    from metalbench.run.control import NAME, SIZES, attempt_control, attempt_path
    from metalbench.run.runner import Outcome

    untried = []
    ended = "finished"
    paths = tuple(SIZES) if device.own_clock and trials else ()
    total = len(trials) + len(paths)
    with progress:
        try:
            for index, size in enumerate(paths):
                progress.kernel_started(index, total, f"{NAME} {size}", "float32")
                progress.kernel_finished(attempt_path(device, size, trials[0].plan, progress))
            for index, trial in enumerate(trials, start=len(paths)):
                progress.kernel_started(index, total, trial.entry.name, trial.dtype)
                try:
                    progress.kernel_finished(attempt_control(device, trial, progress))
                except DeclarationError as error:
                    untried.append(str(error))
        except KeyboardInterrupt:
            ended = "interrupted"
    return Outcome(tuple(progress.results), ended, untried=tuple(untried))


def print_control(out: Console, results: Sequence[Result]) -> bool:
    """Print the number of wrong verdicts; return whether there is none."""
    from metalbench.run.control import SET

    of_path = [each for each in results if each.case.set == SET]
    of_mlx = [each for each in results if each.case.set != SET]
    if not of_path:
        out.print(
            "Path control: not run, for MLX and metalbench have no GPU in common here.",
            soft_wrap=True,
        )
    return all([_print_mlx(out, of_mlx), *[_print_path(out, each) for each in of_path]])


def _print_path(out: Console, result: Result) -> bool:
    from metalbench.report import numbers
    from metalbench.stats import Verdict

    measured, size = result.measurement, result.case.size
    if measured is None or measured.verdict is None:
        out.print(f"Path control, {size}: failed; see above.", style="red")
        return False
    right = measured.verdict is Verdict.SAME
    by_wall = measured.by_wall
    out.print(
        f"Path control, {size}: one kernel by way of MLX and of metalbench, which must be SAME: "
        f"{measured.verdict.value}, {numbers.ratio(measured.ratio)} of {measured.clock}"
        + (f", {numbers.ratio(by_wall.ratio)} of wall time." if by_wall else "."),
        style="green" if right else "red",
        soft_wrap=True,
    )
    return right


def _print_mlx(out: Console, results: Sequence[Result]) -> bool:
    false = [each.case.task for each in results if _differs(each)]
    timed = sum(each.measurement is not None for each in results)
    named = f" ({', '.join(false)})" if false else ""
    out.print(
        "Control: MLX was timed against itself, so that FASTER and SLOWER are false: "
        f"{len(false)} of {timed}{named}.",
        style="red" if false else "green",
        soft_wrap=True,
    )
    return not false


def _differs(result: Result) -> bool:
    from metalbench.stats import Verdict

    measured = result.measurement
    return measured is not None and measured.verdict in (Verdict.FASTER, Verdict.SLOWER)


# Options of ``metalbench run`` that decide whether it fails, and its baseline.

FAILING = ("incorrect", "slower", "regression", "inconclusive")


def gate_options(command: Command) -> Command:
    """``--fail-on``, ``--max-regression``, ``--baseline`` and ``--save``."""
    for option in (
        click.option(
            "--save",
            metavar="NAME",
            callback=baseline_name,
            help="Save the run under this name, for --baseline and `metalbench compare NAME`.",
        ),
        click.option(
            "--baseline",
            metavar="RUN",
            help="Look for regressions against this run: a saved name, run:12, latest, or a file "
            "of --json; else against each kernel's own past.",
        ),
        click.option(
            "--max-regression",
            metavar="PERCENT",
            callback=parse_share,
            help="Fail on kernels that are significantly slower than before by more than this, "
            "such as 5%. Implies --fail-on regression.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(FAILING),
            multiple=True,
            help="Exit code 1 also if a kernel is slower than MLX, or than it was before, or if it "
            "is inconclusive whether it became slower; always if one is incorrect. Repeatable.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Gate:
    """When a run fails. `allowed` is the fraction that a kernel may become slower by."""

    fail_on: tuple[str, ...] = ()
    allowed: float = 0.0
    baseline: ResultSet | None = None

    @classmethod
    def of(cls, config: GateConfig, db: Path | None, device: Described) -> Gate:
        """Read the baseline from its file or from the store `db`.

        Raises click.UsageError if there is no such baseline, or it is of another device.
        """
        named, allowed = config.baseline, config.max_regression
        implied = () if allowed is None else ("regression",)
        baseline = None if named is None else result_set(named, db)
        here = f"{device.kind} ({device.name})"
        if baseline is not None and baseline.device != here:
            raise click.UsageError(
                f"--baseline {named}: expected results of {here}, got those of "
                f"{baseline.device}; such times do not compare"
            )
        return cls((*config.fail_on, *implied), allowed or 0.0, baseline)

    @property
    def looks_back(self) -> bool:
        """Whether the run is compared with earlier ones."""
        asked = {"regression", "inconclusive"} & set(self.fail_on)
        return bool(asked) or self.baseline is not None

    def find_regressions(
        self, store: Store, outcome: Outcome, *, without: Sequence[int] = ()
    ) -> Regressions:
        """Return the regressions, if they were asked for; raise if runs do not compare."""
        from metalbench.compare.comparison import RegressionOutcome as Regressions
        from metalbench.compare.comparison import find_regressions

        if not self.looks_back or outcome.number is None or not outcome.results:
            return Regressions()
        return find_regressions(
            store,
            outcome.number,
            baseline=self.baseline,
            allowed=self.allowed,
            without=without,
        )

    def exit_code(self, outcome: Outcome, found: Regressions | None = None) -> int:
        """130 interrupted, 2 not all could be tried, 1 failed, 0 passed."""
        if outcome.ended == "interrupted":
            return INTERRUPTED
        if outcome.untried:
            return CommandFailure.exit_code
        slower = "slower" in self.fail_on and any(map(_is_slower, outcome.results))
        regressed = found and "regression" in self.fail_on and found.regressed
        unclear = found and "inconclusive" in self.fail_on and found.inconclusive
        return int(bool(not outcome.correct or slower or regressed or unclear))


def _is_slower(result: Any) -> bool:
    from metalbench.stats import Verdict

    return result.measurement is not None and result.measurement.verdict is Verdict.SLOWER


def print_regressions(out: Console, gate: Gate, found: Regressions, *, quiet: bool) -> None:
    """Print regressions, inconclusive comparisons, and suspicions that were not confirmed."""
    for each in found.regressed:
        line = f"Regression: {_describe(each)}"
        if each.suspected is not None:
            line += "; measured twice"
        out.print(line, style="bold red", soft_wrap=True)
    for each in found.inconclusive:
        reason = f": {each.reason}" if each.reason else ""
        out.print(f"Inconclusive: {_describe(each)}{reason}", style="yellow", soft_wrap=True)
    if found.comparison is not None:
        for line, style in _list_without_ratio(found.comparison):
            if style or not quiet:
                out.print(line, style=style, soft_wrap=True, highlight=False)
    if not gate.looks_back or quiet:
        return
    for each in found.cleared:
        line = f"Not confirmed: {_describe(each)}; measured again, it is not slower"
        out.print(line, soft_wrap=True, highlight=False)
    if not found.regressed and found.compared:
        before = gate.baseline.name if gate.baseline is not None else "its own past"
        more = f" of more than {100 * gate.allowed:.3g} %" if gate.allowed else ""
        line = f"No regression{more} against {before}"
        if found.inconclusive:
            from metalbench.report.numbers import count

            kernels = count(len(found.inconclusive), "kernel")
            line += f"; inconclusive for {kernels} of {found.compared}"
        out.print(line, soft_wrap=True, highlight=False)


def _list_without_ratio(comparison: RunComparison) -> Iterator[tuple[str, str]]:
    """Yield lines about the run's kernels that were not compared, each with its style."""
    from metalbench.report.numbers import label

    before, after = comparison.before, comparison.after
    for each in comparison.incorrect:
        name = label(each.task, each.dtype)
        yield (
            (f"Broken: {name}" if each.is_broken else name) + f": {each.describe(before)}",
            ("bold red" if each.is_broken else ""),
        )
    # A run of a few kernels needs no list of all others.
    left_out = [each for each in comparison.left_out if each[1] != f"not in {after}"]
    for name, why in left_out:
        yield f"{name}: {why}: nothing to compare", ""
    if not comparison.compared and not comparison.incorrect:
        yield f"Nothing to compare with: {before} has none of these kernels", ""


def _describe(each: Regression) -> str:
    from metalbench.report import numbers
    from metalbench.report.numbers import label

    source = ", source unchanged" if each.same_source else ""
    return (
        f"{label(*each.key)}: {numbers.ratio(each.judgement.ratio)} against {each.against}, its "
        f"own time {numbers.ratio(each.own.ratio)}{source}"
    )


def annotate(
    outcome: Outcome, trials: Sequence[Trial], found: Sequence[Regression], *, to_stderr: bool
) -> None:
    """In a GitHub Actions job, annotate the lines of the pull request that have faults."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from metalbench.report.ci import annotation_lines

    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).absolute()
    files = {trial.entry.name: trial.kernel.path for trial in trials}
    for line in annotation_lines(outcome.results, found, files, root):
        echo_workflow_command(line, err=to_stderr)


# ``metalbench run``.

# As in metalbench.report.results and metalbench.kernel.library. Their imports would slow down
# --help.
QUICK = "quick"
ORDERS = ("ratio", "name", "time", "run")
TARGETS = ("speed", "compute", "memory", "stable", "balanced")
EXAMPLES = """\b
Examples:
  metalbench run --quick
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
  metalbench run answer.metal --task softmax
  metalbench run answer.py --task softmax
  metalbench run softmax --on ssh://mac.local
  MTL_CAPTURE_ENABLED=1 metalbench run softmax --capture softmax.gputrace
"""


@click.command(epilog=EXAMPLES, short_help="Check kernels and time them against MLX.")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...", shell_complete=complete_names)
@click.option(
    "--task",
    metavar="NAME",
    help="Task of a FILE.metal or FILE.py; by default the task with its name.",
)
@click.option("--set", "set_name", metavar="SET", help=SET_HELP)
@click.option("--all", "set_name", flag_value="all", help="The library with all families.")
@click.option(
    "--quick",
    is_flag=True,
    help=f"A first look in less than a minute: one kernel for each technique, {QUICK_SECONDS:g} s "
    "each. With NAME or --set only the short times.",
)
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
@recheck_option
@click.option(
    "--against",
    type=click.Choice(["torch"]),
    help="Time also against PyTorch's form of the task, on the same device.",
)
@result_options
@gate_options
@click.option("-q", "--quiet", is_flag=True, help="Print only faults and the summary.")
@click.option("-v", "--verbose", is_flag=True, help="Print warnings and notes in full.")
@click.option(
    "--sort",
    type=click.Choice(ORDERS),
    default="ratio",
    show_default=True,
    help="Order of the table's rows; run is the order in which kernels ran.",
)
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
@click.option(
    "--predict",
    metavar="CHIP",
    help="Predict also the time of each correct kernel on an Apple GPU such as m2.",
)
@recording_option
@capture_option
@isolation_options
@confinement_option
@on_options
@click.option(
    "--allow-empty",
    is_flag=True,
    is_eager=True,
    help="With --set user: if --kernels has no kernels, or does not exist, store an empty run. As "
    "a baseline of the first kernels it says that there is nothing to compare with.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first kernel that is not correct.")
@kernel_options
@standard_option
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> None:
    """Check kernels, time them against MLX, and store the results.

    Without a NAME the whole library runs; with a single one the full report is printed. A
    FILE.metal is a kernel for --task. A FILE.py calls mx.fast.metal_kernel itself: `class
    ModelNew`, or a function of the task's name. Every finished kernel is stored at once: Ctrl-C
    loses none.

    Exit codes: 0 all correct and nothing that --fail-on names; 1 otherwise; 2 wrong usage or
    environment; 130 interrupted. In GitHub Actions, faults are annotated at their lines.
    """
    if options["allow_empty"] and (options["set_name"] != "user" or options["names"]):
        raise click.UsageError("--allow-empty: expected --set user, without names")
    config = RunConfig.of(apply_quick(ctx, options), ctx.meta.get(COMMAND_LINE, ""))
    if config.ab_control:
        ctx.exit(_run_control(config))
    with open_machine(config.machine, traces=config.capture is not None) as machine:
        ctx.exit(_run_kernels(config, machine))


def _run_control(config: RunConfig) -> int:
    from metalbench import _core
    from metalbench.report.summary import control_discoveries
    from metalbench.run.trial import device_facts
    from metalbench.store.environment import environment

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
    from metalbench.run.trial import device_facts
    from metalbench.store.database import store_path
    from metalbench.store.store import REPEATS, Store

    start = perf_counter()
    device = machine.device
    # Read everything that can be wrong with the command line before any measurement.
    trials = list_trials(config.trials, device)
    if config.capture is not None:
        check_capture(device, trials)
    predicted_chip = None
    if config.predict:
        from metalbench.profiling.prediction import find_gpu_chip

        predicted_chip = find_gpu_chip(config.predict)
    gate = Gate.of(config.gate, config.db, device)
    out, log = open_consoles(config)
    machine.warn(log)
    environment, db = machine.environment, store_path(config.db)

    def measure_again(keys: set[Key], number: int) -> Outcome:
        again = [
            each for each in trials if (each.entry.name, each.dtype, each.size_on(device)) in keys
        ]
        log.print(f"Measuring {len(again)} again, to be sure of what became slower")
        progress = progress_on(log, log, config.trials.seconds)
        # The run as a whole stays the latest one.
        unsaved = replace(config, recorded={**config.recorded, "save": None, REPEATS: number})
        return _try_kernels(machine, again, store, progress, unsaved)

    if not trials:
        return _store_empty_run(config, machine, db, out)
    with Store(db) as store:
        # Try the kernels and report the results.
        if config.tuned:
            trials = apply_tunings(trials, device, store, log)
        with report_on_failure(trials, config, (out, log), start) as progress:
            outcome = _try_kernels(machine, trials, store, progress, config)
        report(out, outcome, config, perf_counter() - start)
        if not config.quiet:
            seed = config.trials.seed
            out.print(f"Kept in {store.path}; --seed {seed} draws the same inputs", soft_wrap=True)
            if config.quick and config.trials.set_name == QUICK:
                out.print(_describe_rest(config), soft_wrap=True, highlight=False)
        if predicted_chip is not None:
            from metalbench.cli.reporting import print_predictions

            print_predictions(out, trials, outcome.results, predicted_chip, device)
        # Compare with records and with earlier runs.
        if config.record:
            enter_records(out, machine, trials, store, outcome, log=log)
        found, fault = _regressions(gate, store, outcome)
        if found.regressed and outcome.ended == "finished":
            found = _confirm(gate, store, outcome, found, measure_again)
    if fault is None:
        print_regressions(out, gate, found, quiet=config.quiet)
    # Write traces and files.
    if config.capture is not None and outcome.ended != "interrupted":
        capture_after(out, machine, trials[0], outcome.results, config.capture)
    annotate(outcome, trials, found.regressed, to_stderr=config.takes_stdout)
    facts, seconds = device_facts(device), perf_counter() - start
    export(outcome, facts, environment, config, slower=found.regressed, seconds=seconds, db=db)
    if fault is not None:
        raise fault
    return gate.exit_code(outcome, found)


def _store_empty_run(config: RunConfig, machine: Machine, db: Path, out: Console) -> int:
    """Store a run without results, as a baseline with which nothing is compared."""
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import device_facts
    from metalbench.store.store import WITHOUT_KERNELS, Store

    with Store(db) as store:
        recorded = {**config.recorded, WITHOUT_KERNELS: True}
        number = store.begin_run(recorded, device_facts(machine.device), machine.environment)
        store.finish_run(number, "finished")
    outcome = Outcome((), "finished", number)
    export(outcome, device_facts(machine.device), machine.environment, config, seconds=0.0, db=db)
    out.print(f"There are no kernels: run:{number} is empty", soft_wrap=True, highlight=False)
    return 0


def _describe_rest(config: RunConfig) -> str:
    """Return the hint after a first look: what it left out, and the commands that have it."""
    from metalbench.kernel.library import Library
    from metalbench.report.numbers import count

    library = Library(config.trials.kernels)
    return (
        f"A first look at {len(library.techniques)} of {count(len(library), 'kernel')}, with "
        f"{config.trials.seconds:g} s of samples each. `metalbench run` has all of them and "
        f"narrower intervals; `metalbench run NAME` has the full report of one."
    )


def _try_kernels(
    machine: Machine,
    trials: Sequence[Trial],
    store: Store,
    progress: LineProgress | LiveProgress,
    config: RunConfig,
) -> Outcome:
    """Run the trials, and judge the results together. Raises MachineError; results are stored."""
    from metalbench.report.summary import control_discoveries
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
    from metalbench.compare.comparison import RegressionOutcome as Regressions
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
    measure_again: Callable[[set[Key], int], Outcome],
) -> Regressions:
    """Measure suspected kernels again, in a separate run: other work may have ended by now."""
    if outcome.number is None:
        return found
    second = measure_again({each.key for each in found.regressed}, outcome.number)
    if not second.correct:
        return found
    of_second, fault = _regressions(gate, store, second, without=(outcome.number,))
    return found if fault is not None else found.after_another_run(of_second)
