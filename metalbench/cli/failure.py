"""The end of a command that cannot do what was asked."""

from typing import IO, Any

import click

from metalbench.cli.interruption import INTERRUPTED, MESSAGE


class Failure(click.ClickException):
    """A message and exit code 2: the usage or the environment is at fault, no kernel."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The end of a command that the user has interrupted."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__(MESSAGE)

    def show(self, file: IO[Any] | None = None) -> None:
        """Say so, below what the terminal has made of Ctrl-C."""
        click.echo(self.message, file=file, err=file is None)
