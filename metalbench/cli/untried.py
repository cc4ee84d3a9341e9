"""Print kernels that could not be tried for faults that are not theirs, such as a wrong task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.run.trial import Trial


def print_untried(out: Console, reasons: Sequence[str]) -> None:
    """Print the reasons why kernels could not be tried."""
    from rich.text import Text

    for reason in reasons:
        out.print(Text("Not tried: ", style="red").append(reason, style=""), soft_wrap=True)


def print_unsolved(out: Console, names: Sequence[str], count: int) -> None:
    """Print the problems of a suite that have no kernel."""
    if names:
        out.print(
            f"No kernel yet for {len(names)} of {count} tasks: {', '.join(names)}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )


def print_remaining(log: Console, trials: Sequence[Trial], done: int) -> None:
    """Print the kernels that a failed run has not tried, and how to continue with them."""
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
