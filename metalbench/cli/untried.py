"""Kernels that could not be tried for no fault of their own, as of a task file that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.run.trial import Trial


def tell_untried(out: Console, reasons: Sequence[str]) -> None:
    """Say why, one line or more each; nothing if there are none."""
    from rich.text import Text

    for reason in reasons:
        out.print(Text("Not tried: ", style="red").append(reason, style=""), soft_wrap=True)


def tell_unsolved(out: Console, names: Sequence[str], count: int) -> None:
    """Say which of a suite's problems have no kernel; nothing if all have."""
    if names:
        out.print(
            f"No kernel yet for {len(names)} of {count} tasks: {', '.join(names)}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )


def tell_remaining(log: Console, trials: Sequence[Trial], done: int) -> None:
    """Say which kernels a run that broke off has not come to, and how to go on with them."""
    remaining = [each.entry.name for each in trials[done:]]
    if remaining:
        names = " ".join(dict.fromkeys(remaining))
        log.print(
            f"Not finished: {len(remaining)} of {len(trials)}. To go on, name them, with the "
            f"options as they were: metalbench run {names}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
