"""``metalbench history``."""

from __future__ import annotations

from typing import Any

import click

from metalbench.cli.output import json_option, write_text
from metalbench.cli.parameters import complete_names, store_option

EXAMPLES = """\b
Examples:
  metalbench history softmax
  metalbench history softmax --last 100 --fail-on slower
  metalbench history softmax --json -
"""


@click.command(epilog=EXAMPLES, short_help="Show a kernel's past, and whether it got slower.")
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="How many earlier results.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["slower"]),
    help="Exit code 1 if a latest result is slower than the best or the one before.",
)
@json_option
@store_option
@click.pass_context
def history(ctx: click.Context, /, name: str, **options: Any) -> None:
    """Show the earlier results of a kernel, the latest against the best and against the last.

    Results compare within one device, element type, size and mode, by their ratios to MLX where
    there are such, else by their times. The name need not be in the library any more.
    """
    from metalbench.comparison.past import pasts
    from metalbench.report.console import console
    from metalbench.report.history import history_report
    from metalbench.report.history_json import history_json
    from metalbench.store import Store, location

    path = location(options["db"])
    entries = []
    if path.exists():
        with Store(path) as store:
            entries = store.history(name, options["last"])
    found = list(pasts(entries))
    out = console(to_stderr=str(options["json_file"]) == "-")
    for past in found:
        out.print(history_report(past, out))
    if not found:
        out.print(f"{name}: no results in {path}; `metalbench run {name}` makes some")
    if options["json_file"]:
        write_text(options["json_file"], history_json(name, found))
    ctx.exit(int(options["fail_on"] is not None and any(past.regressed for past in found)))
