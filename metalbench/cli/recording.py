"""``metalbench run --record``: correct kernels become records if no record is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.cli.machine import Machine
    from metalbench.leaderboard import Ruling
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial
    from metalbench.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
ORIGIN = "run"


def recording_option(command: Command) -> Command:
    """``--record``."""
    return click.option(
        "--record",
        is_flag=True,
        help="Let correct kernels become records (see `metalbench leaderboard`): where there is "
        "one, both are run in pairs, 5 s and once more.",
    )(command)


def enter_records(
    out: Console,
    machine: Machine,
    trials: Sequence[Trial],
    store: Store,
    of: Outcome,
    *,
    log: Console,
) -> None:
    """Enter every correct result of a run that was not interrupted; print the rulings.

    Errors and Ctrl-C are printed: they must not prevent the writing of reports and files.
    """
    from metalbench.errors import MetalBenchError
    from metalbench.report.rulings import ruling_lines

    if of.number is None or of.ended == "interrupted":
        return
    by_key = {(each.entry.name, each.dtype, _size(each, machine)): each for each in trials}
    rulings: list[Ruling] = []
    for entry in store.results(of.number):
        if entry.status != "correct":
            continue
        trial = by_key[entry.task, entry.dtype, entry.size]
        try:
            rulings.append(_rule_on(log, machine, store, trial, entry.id))
        except MetalBenchError as error:
            out.print(f"{entry.task}: no record: {error}", style="red", soft_wrap=True)
        except KeyboardInterrupt:
            out.print("Interrupted: the rest have not met their records.", style="yellow")
            break
    for line in ruling_lines(rulings):
        out.print(line, soft_wrap=True)


def _rule_on(log: Console, machine: Machine, store: Store, trial: Trial, result: int) -> Ruling:
    from metalbench.cli.waiting import waiting
    from metalbench.leaderboard import enter

    with waiting(log, f"{trial.entry.name} against the record") as progress:
        return enter(
            machine.device,
            store,
            trial,
            result,
            origin=ORIGIN,
            site=machine.site,
            progress=progress,
        )


def _size(trial: Trial, machine: Machine) -> str:
    from metalbench.errors import TaskError

    try:
        return trial.size_on(machine.device)
    except TaskError:
        return ""
