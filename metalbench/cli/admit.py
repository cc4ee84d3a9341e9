"""``metalbench admit``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.options import SET_HELP, complete_names, kernels_option, seed_option
from metalbench.report.console import echo
from metalbench.safe_text import json_text

if TYPE_CHECKING:
    from metalbench.verify.admission import CheckTrial

EXAMPLES = """\b
Examples:
  metalbench admit
  metalbench admit softmax --size large
  metalbench admit my_task --kernels ./my_kernels --json
"""


@click.command(epilog=EXAMPLES, short_help="Try bad results against the checks of tasks.")
@click.argument("names", nargs=-1, shell_complete=complete_names)
@click.option("--set", "set_name", metavar="SET", help=SET_HELP)
@click.option("--size", "sizes", metavar="NAME", multiple=True, help="Only this size. Repeatable.")
@seed_option("Of the inputs.", secret=False)
@click.option("--json", "as_json", is_flag=True, help="Print every trial as JSON.")
@kernels_option
def admit(names: tuple[str, ...], **options: Any) -> None:
    """Try results that cannot be right against the checks of tasks.

    Zeros, a constant, another seed's output, copies of inputs, a missing tile, permuted rows and
    arithmetic in bfloat16 must all be rejected, at every size. Exit code 1 if one is let through.
    """
    from metalbench.errors import DeclarationError
    from metalbench.kernel.library import find
    from metalbench.verify.admission import admit as tried

    trials, untried = {}, []
    for entry in find(names, options["set_name"], options["kernels"]):
        try:
            sizes = options["sizes"] or None
            trials[entry.name] = tried(entry.task, sizes=sizes, seed=options["seed"])
        except DeclarationError as error:
            untried.append(str(error))
    if options["as_json"]:
        _print_json(trials)
    else:
        _print_table(trials)
    if untried:
        raise CommandFailure("\n".join(untried))
    if not all(trial.rejected for each in trials.values() for trial in each):
        raise click.exceptions.Exit(1)


def _print_json(trials: dict[str, list[CheckTrial]]) -> None:
    import math
    from dataclasses import asdict

    def plain(trial: CheckTrial) -> dict[str, Any]:
        exact = not math.isfinite(trial.factor)
        return {**asdict(trial), "factor": None if exact else trial.factor}

    told = {name: [plain(trial) for trial in each] for name, each in trials.items()}
    echo(json_text(told, indent=2))


def _print_table(trials: dict[str, list[CheckTrial]]) -> None:
    from rich.text import Text

    from metalbench.report.console import console
    from metalbench.report.terminal import plain_table

    out = console()
    table = plain_table(terminal=out.is_terminal)
    for name in ("task", "bad result", "sizes", "least error / allowed", ""):
        table.add_column(name, no_wrap=True, justify="right" if "/" in name else "left")
    for name, each in trials.items():
        for row in _rows(name, each):
            table.add_row(*map(Text, row))
    out.print(table)
    count = sum(not trial.rejected for each in trials.values() for trial in each)
    out.print(f"\n{count} bad results were let through" if count else "\nAll were rejected")


def _rows(task: str, trials: Sequence[CheckTrial]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    several = len({trial.output for trial in trials}) > 1
    for key in dict.fromkeys((trial.candidate, trial.output) for trial in trials):
        found = [trial for trial in trials if (trial.candidate, trial.output) == key]
        through = [trial.size for trial in found if not trial.rejected]
        least = min(trial.factor for trial in found)
        rows.append(
            (
                task,
                f"{key[1]}: {key[0]}" if several else key[0],
                ", ".join(trial.size for trial in found),
                f"{least:.3g}",
                f"LET THROUGH at {', '.join(through)}" if through else "rejected",
            )
        )
    return rows
