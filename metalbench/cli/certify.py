"""``metalbench certify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.machine import Machine, on_options, open_machine
from metalbench.cli.options import (
    MachineConfig,
    TrialConfig,
    complete_names,
    dtype_option,
    isolation_options,
    kernel_options,
    seed_option,
    time_option,
)
from metalbench.cli.output import write_text
from metalbench.cli.trials import list_trials
from metalbench.report.console import echo_document

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.compare.certificate import Certificate
    from metalbench.run.trial import Trial
    from metalbench.store.store import Store

EXAMPLES = """\b
Examples:
  metalbench certify softmax
  metalbench certify softmax relu --kernels my_kernels --out records
  metalbench certify sqr_mm --size large --dtype float16 --time 10 > contribution.md
  metalbench certify softmax --on ssh://mac.local
  metalbench reproduce records/softmax-float32-seed.record.json
"""


@click.command(epilog=EXAMPLES, short_help="Measure a kernel for a contribution.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_names)
@click.option(
    "--size",
    "sizes",
    metavar="NAME",
    multiple=True,
    help="Size to time; by default the headline size of the device. Repeatable.",
)
@dtype_option("dtypes", multiple=True, default=["float32"], show_default=True, help="Element type.")
@seed_option("Seed of the inputs and of the order of samples.")
@time_option(5.0, "Longest time of each measurement.")
@click.option(
    "--out",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=".",
    show_default=True,
    metavar="DIR",
    help="Folder to write the record files to.",
)
@isolation_options
@on_options
@kernel_options
@click.pass_context
def certify(ctx: click.Context, /, **options: Any) -> None:
    """Measure kernels anew, and print what to paste into a contribution.

    Each is checked in full, timed against MLX, and run in turn with the record of its task on this
    device, or where there is none with the library's own version of it, if that is another. FASTER
    counts only if it is confirmed on other inputs. For each a file is written with its source, all
    samples and the machine, which others can measure with `metalbench reproduce FILE`.

    Exit codes: 0 all correct; 1 one is not; 2 wrong usage or environment; 130 interrupted.
    """
    from metalbench.report.console import console
    from metalbench.report.leaderboard import certificate_to_markdown
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    log = console(to_stderr=True)
    with (
        open_machine(MachineConfig.of(options)) as machine,
        Store(store_path(options["db"])) as store,
    ):
        trials = list_trials(TrialConfig.of(options), machine.device)
        machine.warn(log)
        made: list[Certificate] = []
        files: dict[int, str] = {}
        try:
            for trial in trials:
                made.append(_certificate(log, machine, store, trial, options["seconds"]))
                if made[-1].is_correct:
                    files[made[-1].entry.id] = _write(made[-1], options["out"])
        finally:
            # Of what was done before an error, or Ctrl-C, too.
            if made:
                echo_document(certificate_to_markdown(made, files))
    ctx.exit(int(not all(each.is_correct for each in made)))


def _certificate(
    log: Console, machine: Machine, store: Store, trial: Trial, seconds: float
) -> Certificate:
    from metalbench.cli.progress import LineProgress
    from metalbench.cli.reporting import waiting
    from metalbench.compare.certificate import certify as certified
    from metalbench.measure.measurement import Plan
    from metalbench.report.results import failures

    heard = LineProgress(log, seconds)
    name = f"{trial.entry.name} against what there is"
    with waiting(log, name) as progress:
        made = certified(
            machine.device,
            store,
            trial,
            observer=heard,
            attempts=machine.attempts,
            site=machine.site,
            here=machine.environment,
            plan=Plan(seconds=seconds),
            progress=progress,
        )
    log.print(failures(heard.results))
    return made


def _write(made: Certificate, folder: Path) -> str:
    assert made.record is not None
    entry = made.entry
    size = "".join(letter if letter.isalnum() else "-" for letter in entry.size)
    path = folder / f"{entry.task}-{entry.dtype}-{size}.record.json"
    write_text(path, made.record.text)
    return path.name
