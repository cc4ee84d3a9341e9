"""``metalbench run --record``: what a run found becomes the record where nothing is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device
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
    device: Device,
    trials: Sequence[Trial],
    store: Store,
    of: Outcome,
    *,
    log: Console,
) -> None:
    """Let every correct result of a run that ended by itself enter, and tell what became of it."""
    from metalbench.cli.waiting import waiting
    from metalbench.leaderboard import enter
    from metalbench.report.rulings import ruling_lines

    if of.number is None or of.ended == "interrupted":
        return
    by_key = {(each.entry.name, each.dtype, _size(each, device)): each for each in trials}
    rulings: list[Ruling] = []
    for entry in store.results(of.number):
        if entry.status == "correct":
            trial = by_key[entry.task, entry.dtype, entry.size]
            with waiting(log, f"{entry.task} against the record") as progress:
                rulings.append(
                    enter(device, store, trial, entry.id, origin=ORIGIN, progress=progress)
                )
    for line in ruling_lines(rulings):
        out.print(line, soft_wrap=True)


def _size(trial: Trial, device: Device) -> str:
    from metalbench.errors import TaskError

    try:
        return trial.size_on(device.kind)
    except TaskError:
        return ""
