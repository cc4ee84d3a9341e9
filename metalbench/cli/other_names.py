"""Suggest commands and options for their names in other programs."""

from __future__ import annotations

import click

COMMANDS = {
    "bench": "`metalbench run`",
    "benchmark": "`metalbench run`",
    "diff": "`metalbench compare`",
    "inspect": "`metalbench show NAME`, with --engine or --emit, and `metalbench profile NAME`",
    "snapshot": "`metalbench snap`",
}
OPTIONS = {
    ("run", "--diff"): "`--baseline RUN`",
    ("run", "--threshold"): "`--max-regression PERCENT`",
}


def suggest_command(error: click.UsageError, name: str) -> click.UsageError:
    """Return an error that suggests the command for `name`, which does not exist."""
    here = COMMANDS.get(name)
    if here is None:
        return error
    return click.UsageError(f"No such command {name!r}: say {here}.", error.ctx)


def suggest_option(error: click.NoSuchOption) -> click.UsageError:
    """Return an error that suggests the option for one that does not exist."""
    command = error.ctx.info_name if error.ctx is not None else None
    here = OPTIONS.get((command or "", error.option_name))
    if here is None:
        return error
    return click.UsageError(f"No such option {error.option_name!r}: say {here}.", error.ctx)
