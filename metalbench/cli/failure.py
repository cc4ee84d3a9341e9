"""The errors that end a command."""

from typing import IO, Any

import click

from metalbench.cli.interruption import INTERRUPTED, MESSAGE


class Failure(click.ClickException):
    """A message and exit code 2: the usage or the environment is wrong, not a kernel."""

    exit_code = 2


class Interrupted(click.ClickException):
    """A message and exit code 130: the user has interrupted the command."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__(MESSAGE)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, in the line after the terminal's ^C."""
        click.echo(self.message, file=file, err=file is None)
