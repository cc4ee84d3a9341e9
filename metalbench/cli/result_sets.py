"""Resolve names of runs on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metalbench.comparison import ResultSet

RUN = re.compile(r"run:(\d+)")
LATEST = re.compile(r"latest(?:~(\d+))?")
BASELINE = re.compile(r"[A-Za-z0-9][\w.-]*")


def baseline_name(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Raise BadParameter for a name that has another meaning."""
    if value is not None and (BASELINE.fullmatch(value) is None or LATEST.fullmatch(value)):
        raise click.BadParameter(
            f"expected a name of letters, digits, - . and _, such as main, got {value}",
            ctx,
            parameter,
        )
    return value


def result_set(name: str, db: Path | None) -> ResultSet:
    """Return the results of `name`: a file, run:12, latest~1, or a name of `run --save`.

    Raises click.UsageError for an unknown name.
    """
    from metalbench.comparison import ResultSet
    from metalbench.store import Store, store_path

    if Path(name).is_file():
        return ResultSet.of_file(Path(name))
    run, latest = RUN.fullmatch(name), LATEST.fullmatch(name)
    path = store_path(db)
    if not path.exists():
        raise click.UsageError(
            f"{name}: there is no such file, and the store {path} is empty; `metalbench run` "
            "fills it, and --save NAME gives a run a name"
        )
    with Store(path) as store:
        if run is not None:
            return ResultSet.of_run(store, int(run[1]), name)
        if latest is not None:
            return ResultSet.of_latest(store, int(latest[1] or 0), name)
        saved = store.baselines()
        if name in saved:
            return ResultSet.of_run(store, saved[name], name)
    listed = f"one of the saved names {', '.join(saved)}" if saved else "a name of `run --save`"
    raise click.UsageError(
        f"{name}: expected a file of `run --json`, run:NUMBER, latest, latest~1, NAME@REVISION, "
        f"or {listed}; there is no such file"
    )
