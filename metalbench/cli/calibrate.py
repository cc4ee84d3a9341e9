"""``metalbench calibrate``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import kernels_option, store_option
from metalbench.cli.output import write_text

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """\b
Examples:
  metalbench run --quick
  metalbench calibrate pairs.json
"""


@click.command(epilog=EXAMPLES, short_help="Write predicted and measured times of a Mac.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@kernels_option
def calibrate(file: Path, **options: Any) -> None:
    """Write pairs of predicted work and measured time to FILE, for the model of Apple's GPUs.

    The times are the stored results of a Mac's GPU for kernels whose text is still the same. The
    file is anonymous: it has the chip, its cores, the element type, the times and the counts of
    each dispatch, but no name, source or path. Nothing is sent.

    Exit codes: 0; 2 wrong usage, or no such result in the store.
    """
    from metalbench.errors import DeclarationError
    from metalbench.kernel.library import find
    from metalbench.profiling.calibration_records import make_records
    from metalbench.report.console import console
    from metalbench.report.numbers import short_time
    from metalbench.safe_text import json_text
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    out, log, records = console(), console(to_stderr=True), []
    with Store(store_path(options["db"])) as store:
        for task in store.tasks():
            skip = partial(_report_skipped, log, task)
            try:
                (entry,) = find([task], None, options["kernels"])
                for record in make_records(entry, store.history(task, limit=100), skip):
                    measured, predicted = (
                        short_time(1e9 * each) for each in (record.measured_s, record.predicted_s)
                    )
                    out.print(
                        f"{task} on {record.chip}: measured {measured}, predicted {predicted}"
                    )
                    records.append(record.record())
            except DeclarationError as error:
                # A task that is not in the library any more, or whose kernel is wrong.
                skip(str(error).partition("\n")[0])
    if not records:
        raise click.UsageError(
            "the store has no result of a Mac's GPU for these kernels; `metalbench run` on a Mac "
            "stores them"
        )
    write_text(file, json_text({"version": 1, "pairs": records}, indent=2) + "\n")


def _report_skipped(log: Console, task: str, reason: str) -> None:
    log.print(f"{task}: skipped: {reason}", soft_wrap=True, markup=False, highlight=False)
