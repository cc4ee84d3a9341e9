"""``metalbench list``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.options import SET_HELP, kernels_option

if TYPE_CHECKING:
    from metalbench.kernel.library import Entry

EXAMPLES = """\b
Examples:
  metalbench list
  metalbench list --set standard
  metalbench list --set kernelbench/level1
  metalbench list --kernels ./my_kernels
"""


@click.command("list", epilog=EXAMPLES, short_help="List the tasks and their kernels.")
@click.option("--set", "set_name", metavar="SET", help=SET_HELP)
@kernels_option
def list_tasks(set_name: str | None, kernels: tuple[Path, ...]) -> None:
    """List the tasks, their kernels and the types that these are written for."""
    from rich.text import Text

    from metalbench.errors import TaskError
    from metalbench.kernel.library import find
    from metalbench.report.console import console
    from metalbench.report.terminal import plain_table

    out = console()
    table = plain_table(terminal=out.is_terminal)
    for name in ("task", "set", "types", "what"):
        table.add_column(name, no_wrap=name != "what")
    wrong = []
    for entry in find((), set_name, kernels):
        try:
            what = entry.description
        except TaskError as error:
            wrong.append(str(error))
            what = "wrong task"
        table.add_row(*map(Text, (entry.name, entry.set, _types(entry), what)))
    out.print(table)
    if wrong:
        raise CommandFailure("\n".join(wrong))


def _types(entry: Entry) -> str:
    """Return the element types of the kernel; empty if its header is wrong."""
    from metalbench.errors import DeclarationError

    if not entry.kernel_paths:
        return "no kernel yet"
    try:
        return ", ".join(entry.kernel().dtypes)
    except DeclarationError:
        return "wrong header"
