"""``metalbench run NAME --capture FILE.gputrace``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.parameters import writable

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.cli.machine import Machine
    from metalbench.result import Result
    from metalbench.run.observed import Described
    from metalbench.run.trial import Trial

Command = TypeVar("Command", bound=Callable[..., Any])
SUFFIX = ".gputrace"


def _new_trace(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Raise BadParameter for a path that Metal would refuse, before anything is measured."""
    if value is not None:
        if value.suffix != SUFFIX:
            message = f"expected a name that ends in {SUFFIX}, got {value}"
            raise click.BadParameter(message, ctx, parameter)
        if value.exists():
            raise click.BadParameter(
                f"{value} exists already; remove it or name another", ctx, parameter
            )
    return writable(ctx, parameter, value)


def capture_option(command: Command) -> Command:
    """``--capture``."""
    return click.option(
        "--capture",
        type=click.Path(path_type=Path),
        callback=_new_trace,
        metavar=f"FILE{SUFFIX}",
        help="Of a single kernel: leave a GPU trace for Xcode. Needs MTL_CAPTURE_ENABLED=1.",
    )(command)


def check_capture(device: Described, trials: Sequence[Trial]) -> None:
    """Raise an error for a capture of several kernels, or on a device that makes none."""
    from metalbench.run.capture import check_captures

    if len(trials) != 1:
        raise click.UsageError(
            f"--capture: expected one kernel of one element type, got {len(trials)}; name it, as "
            f"in `metalbench run softmax --capture softmax{SUFFIX}`"
        )
    check_captures(device)


def capture_after(
    out: Console, machine: Machine, trial: Trial, results: Sequence[Result], path: Path
) -> None:
    """Capture a kernel that ran, with right or wrong results."""
    from metalbench.result import Status

    if not results or results[0].status is Status.FAILED:
        out.print(f"Not captured: {trial.entry.name} did not run.", style="yellow")
        return
    machine.capture(trial, path)
    out.print(f"Captured in {path}; `open {path}` shows it in Xcode.", soft_wrap=True)
