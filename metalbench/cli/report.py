"""``metalbench report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metalbench.cli.machine import find_device_peaks
from metalbench.cli.options import find_run, open_store, store_option
from metalbench.cli.output import html_option, write_text
from metalbench.report.console import echo

EXAMPLES = """\b
Examples:
  metalbench report --html run.html
  metalbench report latest~1 --html before.html
  metalbench report run:12 --html - > run.html
  metalbench report main --html main.html
"""


@click.command(epilog=EXAMPLES, short_help="Write a page of a stored run.")
@click.argument("run", required=False, default="latest", metavar="[RUN]")
@html_option
@store_option
@click.pass_context
def report(ctx: click.Context, /, run: str, **options: Any) -> None:
    """Write a page of a run of the store, as `run --html` does when it ends.

    RUN is run:12, latest, latest~1, or the NAME of a `run --save NAME`; by default the latest. The
    page is one file without external resources: date, command and commit, a table with bars of
    the ratios that can be sorted and filtered, the roofline, and for each kernel its notes, the
    distribution of its samples, its earlier results by commit, and its source.

    Exit codes: 0; 2 wrong usage or environment.
    """
    from metalbench.report.page.document import to_html
    from metalbench.report.page.model import page_of_run

    path: Path | None = options["html_file"]
    if path is None:
        raise click.UsageError(
            "expected --html FILE, such as --html run.html; - is standard output"
        )
    with open_store(run, options["db"]) as store:
        stored = store.read_run(find_run(store, run))
        text = to_html(page_of_run(stored, store.samples, store.history, find_device_peaks))
    write_text(path, text)
    if str(path) != "-":
        echo(f"Wrote run {stored.number} with {len(stored.results)} results to {path}")
