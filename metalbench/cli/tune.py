"""``metalbench tune``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.machine import on_options, open_machine
from metalbench.cli.options import (
    MachineConfig,
    complete_names,
    dtype_option,
    find_objective_chip,
    kernel_options,
    limit_options,
    objective_option,
    seed_option,
    standard_option,
    time_option,
)
from metalbench.cli.output import json_option, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.tune.search import TuningCandidate, TuningResult

EXAMPLES = """\b
Examples:
  metalbench tune softmax
  metalbench tune sqr_mm --time 300 --size large --dtype float16
  metalbench tune softmax --on ssh://mac.local
  metalbench run softmax --tuned
  metalbench tune sqr_mm --objective predicted:m2
"""
JOURNAL = "tuning.journal"


@click.command(epilog=EXAMPLES, short_help="Find the fastest values of a kernel's tunables.")
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--size", metavar="NAME", help="Size to time; by default the headline size of the device."
)
@dtype_option(default="float32", show_default=True, help="Element type.")
@seed_option("Seed of the inputs and of the order of candidates.")
@time_option(60.0, "Longest time to search; the best values are then measured once more.")
@objective_option("Measure times on the device, or predict them for an Apple GPU such as m2.")
@json_option
@limit_options
@on_options
@standard_option
@kernel_options
@click.pass_context
def tune(ctx: click.Context, /, name: str, **options: Any) -> None:
    """Search the values that a kernel's `// tune:` lines offer, and keep the best of them.

    Each candidate is verified, and timed in pairs with the defaults, in a worker process. The
    best one wins if a longer measurement calls it FASTER; `metalbench run --tuned` uses it from
    then on, on this device. Tried candidates are stored: after Ctrl-C, or with more time, the
    search continues.

    Exit codes: 0; 1 if the kernel is wrong with some of its values; 2 wrong usage or environment;
    130 interrupted.
    """
    from metalbench.report.console import console
    from metalbench.report.tuning import to_json, tuning_report

    if (chip := find_objective_chip(options["objective"])) is not None:
        _tune_by_prediction(name, chip, options)
        return
    piped = str(options["json_file"]) == "-"
    out = console(to_stderr=piped)
    found = _search(name, options, console(to_stderr=True))
    out.print(tuning_report(found, out))
    if options["json_file"]:
        write_text(options["json_file"], to_json(found))
    ctx.exit(int(bool(found.faults)))


def _tune_by_prediction(name: str, chip: GpuChip, options: dict[str, Any]) -> None:
    """Rank the values by predicted times, and print the line for the kernel's header."""
    from metalbench.kernel.library import find
    from metalbench.report.console import console
    from metalbench.report.tuning import prediction_report
    from metalbench.tune.predicted import tune_by_prediction

    for option in ("json_file", "on"):
        if options[option]:
            raise click.UsageError(
                f"--{option.removesuffix('_file')}: expected none with --objective "
                f"{options['objective']}"
            )
    (entry,) = find([name], None, options["kernels"])
    found = tune_by_prediction(
        replace(entry.kernel(chip.target, dtype=options["dtype"]), include_dirs=options["include"]),
        entry.task,
        options["size"] or entry.task.headline,
        chip,
        dtype_name=options["dtype"],
        seconds=options["seconds"],
        seed=options["seed"],
    )
    console().print(prediction_report(found))


def _search(name: str, options: dict[str, Any], log: Console) -> TuningResult:
    """Search, and store the result."""
    from metalbench.compare.head_to_head import WrongKernelError
    from metalbench.kernel.library import find
    from metalbench.run.trial import device_facts
    from metalbench.store.database import store_path
    from metalbench.store.store import Store
    from metalbench.tune.search import TuningSearch
    from metalbench.tune.search import tune as search_for

    (entry,) = find([name], None, options["kernels"])
    path = store_path(options["db"])
    with open_machine(MachineConfig.of(options)) as machine, Store(path) as store:
        facts = device_facts(machine.device)
        search = TuningSearch(
            entry,
            replace(
                entry.kernel(facts, dtype=options["dtype"], standard=options["standard"] or ""),
                include_dirs=options["include"],
            ),
            journal=path.with_name(JOURNAL),
            dtype=options["dtype"],
            size=options["size"],
            seconds=options["seconds"],
            seed=options["seed"],
        )
        machine.warn(log)
        assert machine.site is not None
        try:
            found = search_for(facts, search, machine.site, _Progress(log))
        except WrongKernelError as error:
            raise click.ClickException(str(error)) from error
        store.keep_tuning(facts, found.tuning)
    return found


class _Progress:
    """A line for each candidate."""

    def __init__(self, log: Console) -> None:
        self._log = log

    def candidate(self, number: int, total: int, candidate: TuningCandidate) -> None:
        """Print the outcome of a candidate."""
        from metalbench.report.tuning import outcome
        from metalbench.store.result import format_tunables

        place = f"[{number:{len(str(total))}}/{total}]"
        self._log.print(
            f"{place} {format_tunables(candidate.values)}: {outcome(candidate)}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )

    def confirming(self, best: TuningCandidate) -> None:
        """Print that the best candidate is measured once more."""
        from metalbench.store.result import format_tunables

        self._log.print(f"Measuring {format_tunables(best.values)} once more", highlight=False)
