"""The end of a command that cannot do what was asked."""

import click


class Failure(click.ClickException):
    """A message and exit code 2: the usage or the environment is at fault, no kernel."""

    exit_code = 2
