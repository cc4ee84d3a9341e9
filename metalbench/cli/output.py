"""Files that commands write for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from metalbench.cli.failure import Failure
from metalbench.cli.parameters import writable

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


def json_option(command: Command) -> Command:
    """``--json``."""
    return _file_option("JSON")(command)


def csv_option(command: Command) -> Command:
    """``--csv``."""
    return _file_option("CSV")(command)


def _file_option(kind: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{kind.lower()}",
        f"{kind.lower()}_file",
        type=FILE,
        callback=writable,
        metavar="FILE",
        help=f"Write results as {kind}; - is standard output.",
    )


def write_text(path: Path, text: str) -> None:
    """Write all of it or nothing: a reader never sees half a file. ``-`` is standard output."""
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from error
