"""Consoles for reports: a terminal has colour and a width, a pipe plain and unbroken lines.

Every command prints with these functions only. They sanitise all text, since any of it may quote a
candidate: see `metalbench.safe_text`.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import IO, TYPE_CHECKING, cast

from metalbench.safe_text import source_text, terminal_text

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough for any table: lines in a pipe are not broken.
PIPE_WIDTH = 10_000


def console(*, to_stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console on standard output, or on standard error; one without output if `quiet`."""
    from metalbench.report.terminal import SafeConsole

    stream = sys.stderr if to_stderr else sys.stdout
    if stream.isatty():
        return SafeConsole(file=stream, highlight=False, emoji=False, markup=False, quiet=quiet)
    plain = cast(IO[str], _Unpadded(stream))
    return SafeConsole(
        file=plain, width=PIPE_WIDTH, highlight=False, emoji=False, markup=False, quiet=quiet
    )


class _Unpadded:
    """A text stream that removes the trailing blanks of rich."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +(?=\n)", "", text))

    def flush(self) -> None:
        self._stream.flush()


def echo(text: str = "", *, err: bool = False, nl: bool = True, fg: str | None = None) -> None:
    """Print a message; `fg` is its colour on a terminal."""
    import click

    click.secho(terminal_text(text), err=err, nl=nl, fg=fg)


def echo_source(text: str, *, nl: bool = True) -> None:
    """Print a program to standard output in a form that still compiles."""
    import click

    click.echo(source_text(text), nl=nl)


def echo_document(text: str) -> None:
    """Print a document whose writer has sanitised every text in it, such as JSON or CSV."""
    import click

    click.echo(text, nl=False)


def echo_workflow_command(line: str, *, err: bool = False) -> None:
    """Print a command for GitHub's runner, made by `metalbench.report.ci`."""
    import click

    click.echo(line, err=err)


def print_safe_tracebacks() -> None:
    """Sanitise the tracebacks of unexpected exceptions, whose messages may quote a candidate."""
    sys.excepthook = _print_traceback


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    from traceback import format_exception

    sys.stderr.write(terminal_text("".join(format_exception(kind, error, trace))))
