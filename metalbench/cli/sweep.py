"""``metalbench sweep``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import COMMAND_LINE
from metalbench.cli.interruption import INTERRUPTED
from metalbench.cli.machine import open_machine
from metalbench.cli.options import (
    MachineConfig,
    complete_names,
    dtype_option,
    kernel_options,
    limit_options,
    make_plain,
    seed_option,
    standard_option,
    time_option,
    writable_picture,
)
from metalbench.cli.output import FILE, write_text
from metalbench.cli.reporting import print_untried, progress_on

if TYPE_CHECKING:
    from metalbench.cli.machine import Machine
    from metalbench.kernel.library import Entry
    from metalbench.report.sweep import SweepReport
    from metalbench.run.runner import Outcome
    from metalbench.run.sweep import SweepAxis

EXAMPLES = """\b
Examples:
  metalbench sweep softmax --param cols=256:8192:*2
  metalbench sweep softmax --param cols=256:8192:*2 --param rows=16,64 --csv softmax.csv
  metalbench sweep sqr_mm --param n=128:1024:+128 --svg sqr_mm.svg --time 0.5
"""


@click.command(epilog=EXAMPLES, short_help="Time a kernel over a range of sizes.")
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--param",
    "params",
    metavar="NAME=FIRST:LAST:*FACTOR",
    multiple=True,
    required=True,
    help="Values of an extent: a factor as in cols=256:8192:*2, a step as in n=128:1024:+128, or a "
    "list as in k=1,2,8. Repeatable: all combinations.",
)
@click.option(
    "--size",
    metavar="NAME",
    help="Size that has the other extents; by default the headline size of the device.",
)
@dtype_option(default="float32", show_default=True, help="Element type.")
@seed_option("Seed of the inputs and of the order of samples.")
@time_option(1.0, "Longest time to sample each size.")
@click.option(
    "--csv",
    "csv_file",
    type=FILE,
    metavar="FILE",
    help="Write a line for each size as CSV; - is standard output.",
)
@click.option(
    "--svg",
    "svg_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable_picture,
    metavar="FILE.svg",
    help="Draw times and ratios over the first extent.",
)
@limit_options
@kernel_options
@standard_option
@click.pass_context
def sweep(ctx: click.Context, /, name: str, **options: Any) -> None:
    """Time a kernel and MLX at many sizes, and show how both depend on the extents.

    The first size is checked in full, as `run` does, and every other one against the oracle before
    and after it is timed. All results are stored, as one run.

    Exit codes: 0 all correct; 1 otherwise; 2 wrong usage or environment; 130 interrupted.
    """
    from metalbench.kernel.library import find
    from metalbench.report.chart import write_svg
    from metalbench.report.console import console
    from metalbench.report.results import failures
    from metalbench.report.sweep import to_csv
    from metalbench.run.sweep import list_sizes, parse_axis

    # Read the command line before the machine is opened.
    (entry,) = find([name], None, options["kernels"])
    axes = [parse_axis(each) for each in options["params"]]
    list_sizes(entry.task, options["size"] or entry.task.headline, axes)
    piped = str(options["csv_file"]) == "-"
    out, log = console(to_stderr=piped), console(to_stderr=True)
    options["command_line"] = ctx.meta.get(COMMAND_LINE, "")
    with open_machine(MachineConfig.of(options)) as machine:
        machine.warn(log)
        report, outcome = _run_sweep(machine, entry, axes, options)
    if report.results:
        out.print(report.table(out))
    if any(each.failures for each in report.results):
        out.print(failures(report.results))
    print_untried(out, outcome.untried)
    if options["csv_file"]:
        write_text(options["csv_file"], to_csv(report))
    plots = report.plots()
    if options["svg_file"] and plots:
        write_svg(options["svg_file"], plots)
    if outcome.ended == "interrupted":
        ctx.exit(INTERRUPTED)
    ctx.exit(2 if outcome.untried else int(not outcome.correct))


def _run_sweep(
    machine: Machine, entry: Entry, axes: Sequence[SweepAxis], options: dict[str, Any]
) -> tuple[SweepReport, Outcome]:
    from metalbench.measure.measurement import Plan
    from metalbench.report.console import console
    from metalbench.report.summary import control_discoveries
    from metalbench.report.sweep import SweepReport
    from metalbench.run.runner import run
    from metalbench.run.sweep import list_sizes
    from metalbench.run.trial import Trial
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    base = options["size"] or entry.task.headline_on(machine.device)
    sizes = list_sizes(entry.task, base, axes)
    kernel = replace(
        entry.kernel(machine.device, dtype=options["dtype"], standard=options["standard"] or ""),
        include_dirs=options["include"],
    )
    trials = [
        Trial(
            entry,
            kernel,
            options["dtype"],
            size,
            seed=options["seed"],
            plan=Plan(seconds=options["seconds"]),
            # The checked builds and the other sizes are the same for every trial.
            verified=index > 0,
        )
        for index, size in enumerate(sizes)
    ]
    progress = progress_on(console(), console(to_stderr=True), options["seconds"])
    with Store(store_path(options["db"])) as store, progress:
        outcome = run(
            machine.device,
            trials,
            store,
            machine.environment,
            progress,
            recorded_options=make_plain(options),
            attempts=machine.attempts,
        )
    outcome = replace(outcome, results=control_discoveries(outcome.results))
    return SweepReport(entry.name, options["dtype"], axes, outcome.results), outcome
