"""``metalbench evaluate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import (
    MachineConfig,
    confinement_option,
    device_option,
    dtype_option,
    kernels_option,
    limit_options,
    make_plain,
    oracle_option,
    seed_option,
    store_option,
    time_option,
)
from metalbench.cli.output import is_taken, table_options, write_text
from metalbench.safe_text import terminal_text

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.kernelbench.evaluate import Evaluator, FinishedJob, LostJob
    from metalbench.kernelbench.folder import SampleFile, SamplePlan
    from metalbench.kernelbench.trials import EvaluationJob, TrialConditions
    from metalbench.store.history import Evaluation
    from metalbench.store.store import Store

# Files that are not samples and are named in a message.
MOST_NAMED = 5
EXAMPLES = """\b
Examples:
  metalbench evaluate runs/a
  metalbench evaluate runs/a --problems 'level_1/problem_1?'
  metalbench evaluate runs/a --no-timing --csv samples.csv
  metalbench evaluate runs/a --workers 4 --kernel-timeout 60 --memory-limit 4G
  metalbench evaluate runs/a --cluster 10.0.0.1:6379
  metalbench evaluate runs/ours --collect kernelbench/level1 && metalbench analyse runs/ours
  metalbench analyse runs/a
"""


@click.command(epilog=EXAMPLES, short_help="Check and time kernels that models have written.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="RUN")
@click.option(
    "--collect",
    metavar="SET",
    help="First write the kernels of SET, from the library or --kernels, to RUN.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=None,
    metavar="N",
    help="Samples to compile and verify at a time; by default 1, with --cluster local the number "
    "of CPUs. Only one sample is timed at a time, alone.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS|local",
    help="Evaluate on the nodes of a Ray cluster, HOST:PORT, or on a local one.",
)
@click.option(
    "--size", metavar="NAME", help="Size to time; by default the headline size of the device."
)
@dtype_option(default="float32", show_default=True, help="Element type.")
@click.option(
    "--problems",
    metavar="GLOB",
    help="Only these problems, such as 'level_1/problem_*' or 'problem_1?'.",
)
@click.option(
    "--no-timing",
    is_flag=True,
    help="Compile and verify only. Without this option correct samples are timed later.",
)
@click.option("--again", is_flag=True, help="Evaluate again what has been evaluated before.")
@seed_option("Seed of the inputs and of the order of samples.")
@time_option(2.0, "Longest time to sample each kernel.")
@oracle_option
@limit_options
@confinement_option
@device_option
@kernels_option
@table_options
@store_option
@click.pass_context
def evaluate(ctx: click.Context, /, folder: Path, **options: Any) -> None:
    """Compile, verify and time every sample in RUN, and store the results.

    RUN holds files such as level_1/problem_7/sample_0.metal. Each sample runs confined, within
    --kernel-timeout and --memory-limit. What has been evaluated on this device is not evaluated
    again: after Ctrl-C, or a crash, the same command goes on.

    At the end a table has a line for each sample; --csv and --json write it to a file.

    Exit codes: 0 all samples have been evaluated, correct or not; 1 some task could not be tried;
    2 wrong usage or environment; 130 interrupted.
    """
    from metalbench.cli.machine import open_seats
    from metalbench.kernel.library import Library
    from metalbench.kernelbench.evaluate import Evaluator
    from metalbench.kernelbench.folder import (
        collect,
        find_misplaced_files,
        find_samples,
        read_plan,
        select_problems,
    )
    from metalbench.kernelbench.trials import make_jobs, select_evaluated, select_remaining
    from metalbench.report.console import console
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    conditions, library = _conditions(options), Library(options["kernels"])
    log = console(to_stderr=True)

    def find_wanted() -> list[SampleFile]:
        return select_problems(find_samples(folder), options["problems"])

    # A wrong folder is an error before the machine is opened.
    samples = [] if options["collect"] else find_wanted()
    with (
        Store(store_path(options["db"])) as store,
        open_seats(MachineConfig.of(options), options["cluster"], options["workers"], log) as found,
    ):
        facts, environment, seats = found
        if options["collect"]:
            collect(folder, options["collect"], library, facts.chip)
            samples = find_wanted()
        plan = read_plan(folder, make=True)
        jobs, untried = make_jobs(samples, plan, library)
        known = [] if options["again"] else store.evaluations(plan.id)
        left = select_remaining(jobs, known, facts, conditions)
        _print_plan(log, plan, jobs, left, is_part=options["problems"] is not None)
        _print_misplaced(log, find_misplaced_files(folder))
        evaluation = Evaluator(facts, conditions, seats)
        if left:
            run = store.begin_run(make_plain(options), facts, environment)
            untried += _evaluate(log, store, run, evaluation, left)
        done = select_evaluated(jobs, store.evaluations(plan.id), facts, conditions)
    _report(done, options)
    for each in untried:
        log.print(f"Not tried: {each}", style="red", soft_wrap=True, markup=False)
    ctx.exit(int(bool(untried)))


def _conditions(options: Mapping[str, Any]) -> TrialConditions:
    from metalbench.kernelbench.trials import TrialConditions
    from metalbench.measure.measurement import Plan

    return TrialConditions(
        options["dtype"],
        options["size"],
        options["seed"],
        Plan(seconds=options["seconds"]),
        options["oracle"],
        timed=not options["no_timing"],
        unconfined=options["unconfined"],
    )


def _print_plan(
    log: Console,
    plan: SamplePlan,
    jobs: Sequence[EvaluationJob],
    left: Sequence[EvaluationJob],
    *,
    is_part: bool,
) -> None:
    """Print how many samples there are, and how many were evaluated before.

    With `is_part` they are those of --problems.
    """
    from metalbench.report.numbers import count

    planned = plan.samples * sum(map(len, plan.problems.values()))
    found = f"{len(jobs)} of {planned} samples are here"
    if is_part:
        found = f"{count(len(jobs), 'sample')} of these problems"
    log.print(f"{found}, {len(jobs) - len(left)} evaluated before", highlight=False)


def _print_misplaced(log: Console, files: Sequence[Path]) -> None:
    from metalbench.report.numbers import count

    if files:
        names = ", ".join(map(str, files[:MOST_NAMED])) + (", ..." if files[MOST_NAMED:] else "")
        log.print(
            f"Left out {count(len(files), 'file')}: {terminal_text(names)}; expected names such as "
            "level_1/problem_7/sample_0.metal",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )


def _report(done: Sequence[Evaluation], options: Mapping[str, Any]) -> None:
    """Print a line for each evaluated sample, and write the files that options ask for."""
    from metalbench.report.console import console
    from metalbench.report.generations import samples_to_csv, samples_to_json, tabulate_samples

    out = console(to_stderr=is_taken(options))
    if done:
        out.print(tabulate_samples(done, out))
    for name, write in (("json", samples_to_json), ("csv", samples_to_csv)):
        if options[f"{name}_file"]:
            write_text(options[f"{name}_file"], write(done))


def _evaluate(
    log: Console,
    store: Store,
    run: int,
    evaluation: Evaluator,
    jobs: Sequence[EvaluationJob],
) -> list[str]:
    """Evaluate the jobs; return the reasons why tasks could not be tried."""
    untried: list[str] = []
    count = 0

    def record(done: FinishedJob) -> None:
        nonlocal count
        count += 1
        if done.result is None or done.judged is None:
            untried.append(done.untried)
            return
        store.record_evaluation(run, done.result, done.job.place, done.judged)
        log.print(f"[{count}/{len(jobs)}] {_describe_outcome(done)}", markup=False, highlight=False)

    def report_lost(each: LostJob) -> None:
        where = f" on {each.machine}" if each.machine else ""
        said = f"{each.job.sample.name}{where}: done again, for {each.reason}"
        log.print(said, style="yellow", markup=False, highlight=False)

    ended = "interrupted"
    try:
        evaluation.run(jobs, record, report_lost)
        ended = "finished"
    finally:
        store.finish_run(run, ended)
    return untried


def _describe_outcome(done: FinishedJob) -> str:
    """Describe the outcome of a sample in one line."""
    from metalbench.report import numbers
    from metalbench.report.generations import LONGEST_MESSAGE
    from metalbench.safe_text import cut_line

    assert done.judged is not None
    assert done.result is not None
    measured = done.result.measurement
    ratio = f" {numbers.ratio(measured.ratio)}" if measured is not None else ""
    message = cut_line(done.judged.message, LONGEST_MESSAGE)
    why = f": {message}" if message else ""
    where = f" on {done.machine}" if done.machine else ""
    name = f"{done.job.sample.name} ({done.job.entry.name}){where}"
    return f"{name}: {done.judged.outcome}{ratio}{why}"
