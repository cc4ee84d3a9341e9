"""``metalbench summary``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metalbench.cli.compare import FAILING, fails
from metalbench.cli.options import result_set, store_option
from metalbench.cli.output import is_taken, markdown_option, write_text

EXAMPLES = """\b
Examples:
  metalbench run --save main
  metalbench run
  metalbench summary
  metalbench summary main
  metalbench summary run:12 latest --fail-on slower
"""


@click.command(epilog=EXAMPLES, short_help="Say what changed against a saved run.")
@click.argument("before", required=False, metavar="[BASELINE]")
@click.argument("after", required=False, default="latest")
@click.option(
    "--fail-on",
    type=click.Choice(FAILING),
    multiple=True,
    help="Exit code 1 if some kernel has this verdict, or is not correct now. Repeatable.",
)
@markdown_option
@store_option
@click.pass_context
def summary(ctx: click.Context, /, before: str | None, after: str, **options: Any) -> None:
    """Summarise the table of `metalbench compare BASELINE` in a few lines.

    BASELINE and AFTER are as in `compare`. Without BASELINE it is the run that was last kept with
    `run --save NAME`; where there is none, the run before the latest.

    Exit codes: 0; 1 by --fail-on; 2 wrong usage or environment.
    """
    from metalbench.compare.comparison import compare
    from metalbench.report.comparison import changes, to_markdown
    from metalbench.report.console import console

    name = before or _baseline(options["db"])
    found = compare(*(result_set(each, options["db"]) for each in (name, after)))
    out = console(to_stderr=is_taken(options))
    out.print(changes(found), soft_wrap=True)
    if options["markdown_file"]:
        write_text(options["markdown_file"], to_markdown(found, only_changes=True))
    ctx.exit(int(fails(found, options["fail_on"])))


def _baseline(db: Path | None) -> str:
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    path = store_path(db)
    if path.exists():
        with Store(path) as store:
            latest = store.runs(1)
            # A run is not a baseline of itself.
            for name, run in store.baselines().items():
                if run not in latest:
                    return name
    return "latest~1"
