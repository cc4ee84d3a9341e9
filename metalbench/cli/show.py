"""``metalbench show``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.parameters import complete_names, dtype_option, kernel_options

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device
    from metalbench.kernel import Kernel
    from metalbench.kernel.library import Entry


EXAMPLES = """\b
Examples:
  metalbench show softmax
  metalbench show softmax --no-source --history 50
"""


@click.command(epilog=EXAMPLES, short_help="Show a task, its kernel and its history.")
@click.argument("name", shell_complete=complete_names)
@dtype_option(help="Element type to reflect; else the kernel's first.")
@click.option(
    "--history",
    "past",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many earlier results.",
)
@click.option("--no-source", is_flag=True, help="Leave out the kernel's source.")
@kernel_options
def show(name: str, **options: Any) -> None:
    """Show a task: its sizes, its kernel's source and arguments, and its earlier results."""
    from metalbench import _core
    from metalbench.kernel.library import find
    from metalbench.report.console import console
    from metalbench.report.reflection import source_text, task_section

    (entry,) = find([name], None, options["kernels"])
    out = console()
    out.print(task_section(entry))
    opened = _core.open(options["device"])
    if entry.kernel_paths:
        kernel = replace(entry.kernel(opened.chip), include_dirs=options["include"])
        if not options["no_source"]:
            out.print(source_text(kernel, terminal=out.is_terminal))
        _print_reflection(out, opened, entry, kernel, options["dtype"] or kernel.dtypes[0])
    if options["past"]:
        _print_history(out, name, options["past"], options["db"])


def _print_reflection(
    out: Console, device: Device, entry: Entry, kernel: Kernel, dtype: str
) -> None:
    from rich.text import Text

    from metalbench.errors import MetalBenchError
    from metalbench.kernel.fast_math import folded_tests
    from metalbench.kernel.prepare import compile_kernel
    from metalbench.report.reflection import reflection

    try:
        compiled = compile_kernel(device, kernel, entry.task, dtype_name=dtype)
    except MetalBenchError as error:
        out.print(Text(f"\nThe kernel does not compile:\n{error}", style="red"))
        return
    out.print(reflection(compiled.pipelines.values(), device, terminal=out.is_terminal))
    for warning in folded_tests(compiled):
        out.print(Text(f"\nWarning: {warning}", style="yellow"), soft_wrap=True)


def _print_history(out: Console, name: str, past: int, db: Path | None) -> None:
    from rich.text import Text

    from metalbench.report.history import history_tables
    from metalbench.store import Store, location

    path = location(db)
    out.print(Text("\nHistory", style="bold"))
    if not path.exists():
        out.print(Text(f"  none; `metalbench run {name}` makes some"))
        return
    with Store(path) as store:
        entries = store.history(name, past)
    for device, table in history_tables(entries, out):
        out.print(Text(device, style="dim"))
        out.print(table)
    if not entries:
        out.print(Text(f"  none; `metalbench run {name}` makes some"))
