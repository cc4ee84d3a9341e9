"""The command line."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from benchmarks.engine.c_loops import CLoops
from benchmarks.engine.cases import CASES
from benchmarks.engine.pocl import MissingError, Pocl
from benchmarks.engine.runner import Runner
from benchmarks.engine.table import table
from metalbench import _core


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--seconds", default=3.0, show_default=True, help="For each pair of contestants.")
def main(names: tuple[str, ...], seconds: float) -> None:
    """Time the engine against PoCL and C: all cases, or those whose names contain a NAME."""
    chosen = [case for case in CASES if not names or any(name in case.name for name in names)]
    if not chosen:
        raise click.UsageError(f"no such case; there are {', '.join(c.name for c in CASES)}")
    # A pipe says nothing of its width; the table needs this much.
    console = Console(width=None if sys.stdout.isatty() else 120)
    device = _core.open("cpu")
    try:
        pocl = Pocl()
    except MissingError as missing:
        console.print(f"[yellow]{missing}; comparing with C only[/yellow]")
        pocl = None
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(device, pocl, CLoops(Path(folder), device.cores), seconds)
        results = []
        for case in chosen:
            with console.status(case.name):
                results.append(runner.run(case))
    title = f"{device.name}, {device.cores} cores" + (f"; {pocl.name}" if pocl else "")
    console.print(table(results, title))
