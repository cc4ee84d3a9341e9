"""Names that other programs give to what is here, for those who try them."""

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


def of_command(error: click.UsageError, name: str) -> click.UsageError:
    """What is told where there is no command `name`."""
    here = COMMANDS.get(name)
    if here is None:
        return error
    return click.UsageError(f"No such command {name!r}: say {here}.", error.ctx)


def of_option(error: click.NoSuchOption) -> click.UsageError:
    """What is told where a command has no such option."""
    command = error.ctx.info_name if error.ctx is not None else None
    here = OPTIONS.get((command or "", error.option_name))
    if here is None:
        return error
    return click.UsageError(f"No such option {error.option_name!r}: say {here}.", error.ctx)
