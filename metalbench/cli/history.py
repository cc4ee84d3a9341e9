"""``metalbench history``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import complete_names, store_option
from metalbench.cli.output import json_option, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.compare.results import TaskHistory
    from metalbench.store.history import HistoryEntry

EXAMPLES = """\b
Examples:
  metalbench history
  metalbench history softmax
  metalbench history softmax --last 100 --fail-on slower
  metalbench history softmax --json -
"""


@click.command(epilog=EXAMPLES, short_help="Show a kernel's past, and whether it got slower.")
@click.argument("name", required=False, shell_complete=complete_names)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Number of earlier results.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["slower"]),
    help="Exit code 1 if a latest result is slower than the best or the one before, or incorrect.",
)
@click.option(
    "--all-projects",
    is_flag=True,
    help="Show results of every project; by default those of the git repository here.",
)
@json_option
@store_option
@click.pass_context
def history(ctx: click.Context, /, name: str | None, **options: Any) -> None:
    """Show the earlier results of a kernel, the latest against the best and against the last.

    Without a NAME it is one line for every kernel that has results. Results compare within one
    device, element type, size and mode, by their ratios to MLX where there are such, else by their
    times. The name need not be in the library any more.

    Exit codes: 0; 1 by --fail-on; 2 wrong usage or environment.
    """
    from metalbench.compare.results import group_histories
    from metalbench.report.console import console
    from metalbench.report.history import all_json, history_json

    found = {
        task: list(group_histories(entries)) for task, entries in _entries(name, options).items()
    }
    out = console(to_stderr=str(options["json_file"]) == "-")
    _show(out, name, found, options)
    if options["json_file"]:
        text = all_json(found) if name is None else history_json(name, found[name])
        write_text(options["json_file"], text)
    regressed = any(
        past.regressed or past.incorrect is not None for each in found.values() for past in each
    )
    ctx.exit(int(options["fail_on"] is not None and regressed))


def _entries(name: str | None, options: dict[str, Any]) -> dict[str, list[HistoryEntry]]:
    """The results by task: of the one that was named, be there any or not, else of all."""
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    path = store_path(options["db"])
    if not path.exists():
        return {} if name is None else {name: []}
    with Store(path, all_projects=options["all_projects"]) as store:
        tasks = store.tasks() if name is None else [name]
        return {task: store.history(task, options["last"]) for task in tasks}


def _show(
    out: Console,
    name: str | None,
    found: Mapping[str, Sequence[TaskHistory]],
    options: dict[str, Any],
) -> None:
    from metalbench.report.history import history_report, overview
    from metalbench.store.database import store_path

    if not any(found.values()):
        about, command = ("", "run") if name is None else (f"{name}: ", f"run {name}")
        path = store_path(options["db"])
        whose = "" if options["all_projects"] else " for this project (--all-projects has others)"
        out.print(f"{about}no results in {path}{whose}; `metalbench {command}` makes some")
    elif name is None:
        out.print(overview(found, out))
    else:
        for past in found[name]:
            out.print(history_report(past, out))
