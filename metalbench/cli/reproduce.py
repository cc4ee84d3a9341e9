"""``metalbench reproduce``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.machine import warn
from metalbench.cli.options import (
    MachineConfig,
    isolation_options,
    kernel_options,
    parse_share,
    seed_option,
    time_option,
)
from metalbench.report.console import echo

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.compare.certificate import ExportedRecord, Reproduction
    from metalbench.kernel.library import Entry

EXIT_CODES = {"REPRODUCED": 0, "NOT REPRODUCED": 1, "NOT COMPARABLE": 3}
EXAMPLES = """\b
Examples:
  metalbench reproduce softmax-float32-seed.record.json
  metalbench reproduce theirs.record.json --time 20 --within 5%
"""


@click.command(epilog=EXAMPLES, short_help="Measure here what somebody else has certified.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--within",
    default="10%",
    callback=parse_share,
    show_default=True,
    metavar="PERCENT",
    help="By how much it may do worse here; the whole interval has to.",
)
@seed_option("Seed of the inputs and of the order of samples.")
@time_option(5.0, "Longest time to sample.")
@isolation_options
@kernel_options
@click.pass_context
def reproduce(ctx: click.Context, /, file: Path, **options: Any) -> None:
    """Run the kernel of a file that `metalbench certify` wrote, and say whether its claim holds.

    The claim is its ratio to MLX. One line says REPRODUCED, NOT REPRODUCED with the interval, or
    NOT COMPARABLE and why: another device, engine, version of MLX or task. The kernel is run as any
    other is, against this machine's own task; nothing else of the file is run.

    Exit codes: 0 REPRODUCED; 1 NOT REPRODUCED; 3 NOT COMPARABLE; 2 wrong usage or environment, or
    no such file; 130 interrupted.
    """
    from metalbench import _core
    from metalbench.compare.certificate import read_exported
    from metalbench.report.leaderboard import reproduction_line
    from metalbench.report.numbers import label

    found = read_exported(file)
    device = _core.open(options["device"])
    said = _reproduction(device, found, options)
    echo(reproduction_line(said, label(found.task, found.dtype, found.size)))
    ctx.exit(EXIT_CODES[said.word.value])


def _reproduction(device: Device, found: ExportedRecord, options: dict[str, Any]) -> Reproduction:
    from metalbench.cli.progress import LineProgress
    from metalbench.compare.certificate import (
        Reproduction,
        ReproductionVerdict,
        build_trial,
        list_obstacles,
        reproduce,
    )
    from metalbench.measure.measurement import Plan
    from metalbench.report.console import console
    from metalbench.store.database import store_path
    from metalbench.store.environment import environment
    from metalbench.store.store import Store

    entry = _entry(found.task, options["kernels"])
    why = "; ".join(list_obstacles(found, device, environment(), entry))
    if entry is None or why:
        return Reproduction(ReproductionVerdict.NOT_COMPARABLE, why)
    log = console(to_stderr=True)
    warn(log, device)
    trial = build_trial(found, entry, Plan(seconds=options["seconds"]), options["seed"])
    machine = MachineConfig.of(options)
    with (
        Store(store_path(options["db"])) as store,
        nullcontext() if machine.in_process else machine.create_workers() as workers,
    ):
        return reproduce(
            device,
            store,
            found,
            trial,
            observer=LineProgress(log, options["seconds"]),
            attempts=workers,
            within=options["within"],
        )


def _entry(name: str, folders: tuple[Path, ...]) -> Entry | None:
    from metalbench.kernel.library import Library

    library = Library(folders)
    return library.entry(name) if name in library.names() else None
