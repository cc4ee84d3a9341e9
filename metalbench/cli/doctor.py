"""``metalbench doctor``."""

from __future__ import annotations

from pathlib import Path

import click

from metalbench.cli.parameters import store_option


@click.command(short_help="Report what works here, and how to fix what does not.")
@store_option
@click.pass_context
def doctor(ctx: click.Context, db: Path | None) -> None:
    """Report what works on this machine, what is missing, and the command that fixes it.

    Exit code 0 if kernels can be run here, else 2.
    """
    from rich.table import Table
    from rich.text import Text

    from metalbench.cli.diagnosis import Health, examinations
    from metalbench.report.console import console

    styles = {Health.GOOD: "green", Health.ABSENT: "yellow", Health.BROKEN: "bold red"}
    out = console()
    broken = False
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, examine in examinations(db):
        finding = examine()
        broken |= finding.health is Health.BROKEN
        detail = Text(finding.detail)
        if finding.remedy:
            detail.append(f"\n-> {finding.remedy}", style="bold")
        grid.add_row(Text(finding.health.value, style=styles[finding.health]), name, detail)
    out.print(grid)
    out.print(
        "\nSomething is broken; the arrows say how to fix it."
        if broken
        else "\nReady: `metalbench run` checks and times the whole library."
    )
    ctx.exit(2 if broken else 0)
