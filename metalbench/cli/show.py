"""``metalbench show``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.compiling import EMIT_HELP, EMITTED
from metalbench.cli.options import complete_names, dtype_option, kernel_options, standard_option
from metalbench.report.console import echo_source

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device
    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.kernel.prepare import Compiled


EXAMPLES = """\b
Examples:
  metalbench show softmax
  metalbench show softmax --no-source --history 50
  metalbench show softmax --engine
  metalbench show softmax --emit ptx --dtype float16
  metalbench profile softmax   its counters: bytes, bank conflicts, arithmetic
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
    help="Number of earlier results.",
)
@click.option("--no-source", is_flag=True, help="Leave out the kernel's source.")
@click.option(
    "--engine",
    is_flag=True,
    help="Only how the cpu device runs each kernel: in loops, as vectors or as fibers, and why.",
)
@click.option(
    "--emit",
    type=click.Choice(EMITTED),
    help=f"Only a text of each of its kernels: {EMIT_HELP}.",
)
@standard_option
@kernel_options
def show(name: str, **options: Any) -> None:
    """Show a task: its sizes, its kernel's source and arguments, and its earlier results."""
    from metalbench import _core
    from metalbench.kernel.library import find
    from metalbench.report.console import console
    from metalbench.report.kernel import source_text, task_section

    (entry,) = find([name], None, options["kernels"])
    out = console()
    opened = _core.open(options["device"])
    kernel = None
    if entry.kernel_paths:
        kernel = replace(
            entry.kernel(opened, dtype=options["dtype"], standard=options["standard"] or ""),
            include_dirs=options["include"],
        )
    if options["engine"]:
        _print_engine(out, entry, kernel, options["dtype"])
        return
    if options["emit"]:
        _print_emitted(entry, kernel, options["emit"], options["dtype"])
        return
    out.print(task_section(entry))
    if kernel is not None:
        if not options["no_source"]:
            out.print(source_text(kernel, terminal=out.is_terminal))
        if kernel.device_defaults:
            out.print(f"\n{_describe_defaults(kernel, opened, options['dtype'])}", highlight=False)
        _print_reflection(out, opened, entry, kernel, options["dtype"])
    if options["past"]:
        _print_history(out, name, options["past"], options["db"])


def _describe_defaults(kernel: Kernel, device: Device, dtype: str | None) -> str:
    """Return the defaults of tunables on that device, by element type if they differ."""
    from metalbench.store.result import format_tunables

    name = dtype or kernel.dtypes[0]
    of = f" in {name}" if any(each.dtypes for each in kernel.device_defaults) else ""
    return f"Defaults on {device.kind}{of}: {format_tunables(kernel.resolve_tunables(dtype=name))}"


def _compile(
    out: Console, device: Device, entry: Entry, kernel: Kernel, dtype: str | None, *, checked: bool
) -> Compiled | None:
    """Compile the kernel for `dtype`, by default its first; print the error if that fails."""
    from rich.text import Text

    from metalbench.errors import MachineError, MetalBenchError
    from metalbench.kernel.prepare import compile_kernel

    name = dtype or kernel.dtypes[0]
    try:
        return compile_kernel(device, kernel, entry.task, dtype_name=name, checked=checked)
    except MachineError:
        raise
    except MetalBenchError as error:
        out.print(Text(f"\nThe kernel does not compile:\n{error}", style="red"))
        return None


def _print_reflection(
    out: Console, device: Device, entry: Entry, kernel: Kernel, dtype: str | None
) -> None:
    from rich.text import Text

    from metalbench.kernel.prepare import find_folded_tests
    from metalbench.report.kernel import reflection

    compiled = _compile(out, device, entry, kernel, dtype, checked=False)
    if compiled is None:
        return
    out.print(reflection(compiled.pipelines.values(), device, terminal=out.is_terminal))
    for warning in find_folded_tests(compiled):
        out.print(Text(f"\nWarning: {warning}", style="yellow"), soft_wrap=True)


def _print_engine(out: Console, entry: Entry, kernel: Kernel | None, dtype: str | None) -> None:
    from metalbench import _core
    from metalbench.report.kernel import engine_table

    if kernel is None:
        out.print(f"{entry.name} has no kernel yet")
        return
    device = _core.open("cpu")
    builds = {}
    for checked in (False, True):
        compiled = _compile(out, device, entry, kernel, dtype, checked=checked)
        if compiled is None:
            return
        builds[checked] = list(compiled.pipelines.values())
    out.print(engine_table(builds, terminal=out.is_terminal))


def _print_emitted(entry: Entry, kernel: Kernel | None, what: str, dtype: str | None) -> None:
    """Print an intermediate form of each kernel, with the defaults of its device."""
    from metalbench.cli.compiling import emit_text
    from metalbench.cli.group import CommandFailure
    from metalbench.kernel.prepare import check_written_for, source_options
    from metalbench.msl import engine
    from metalbench.task.dtypes import DTYPES

    if kernel is None:
        raise CommandFailure(f"{entry.name} has no kernel yet")
    name = dtype or kernel.dtypes[0]
    check_written_for(kernel, name)
    options = source_options(kernel, DTYPES[name], kernel.resolve_tunables(dtype=name))
    program = engine.parse(kernel.source, **options)
    for function in dict.fromkeys(line.function for line in kernel.dispatches):
        echo_source(emit_text(what, program, function, fast_math=kernel.math == "fast"))


def _print_history(out: Console, name: str, past: int, db: Path | None) -> None:
    from rich.text import Text

    from metalbench.report.history import history_tables
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    path = store_path(db)
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
