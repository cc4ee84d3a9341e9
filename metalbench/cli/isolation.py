"""Options for the worker process of each kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Read a size such as 512M or 8G."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
    size = int(float(parts[1]) * UNITS[parts[2].upper()]) if parts else 0
    if size < 1:
        message = f"expected a size such as 512M or 8G, got {value}"
        raise click.BadParameter(message, ctx, parameter)
    return size


def _in_this_process(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
    """Let devices load kernels in this process, if --in-process is given."""
    if value:
        from metalbench import _core

        _core.run_apart(None)
    return value


def isolation_options(command: Command) -> Command:
    """``--kernel-timeout``, ``--memory-limit`` and ``--in-process``."""
    in_process = click.option(
        "--in-process",
        is_flag=True,
        callback=_in_this_process,
        help="Run all kernels in this process, for debuggers; without limits.",
    )
    return limit_options(in_process(command))


def confinement_option(command: Command) -> Command:
    """``--unconfined``."""
    return click.option(
        "--unconfined",
        is_flag=True,
        help="Run Python candidates also where the system cannot confine them (no seccomp or "
        "Landlock): they can do whatever you can. Results say so.",
    )(command)


def limit_options(command: Command) -> Command:
    """``--kernel-timeout`` and ``--memory-limit``."""
    for option in (
        click.option(
            "--memory-limit",
            callback=_bytes,
            metavar="SIZE",
            help="Most memory of a kernel's process, such as 8G; by default half of the RAM.",
        ),
        click.option(
            "--kernel-timeout",
            type=click.FloatRange(min=0.1),
            default=600.0,
            show_default=True,
            metavar="SECONDS",
            help="Longest time for all stages of one kernel; then its process is ended.",
        ),
    ):
        command = option(command)
    return command
