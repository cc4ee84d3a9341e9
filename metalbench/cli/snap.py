"""``metalbench snap``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.options import SET_HELP, complete_names, dtype_option, kernels_option
from metalbench.report.console import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metalbench.kernel.library import Entry
    from metalbench.store.snapshot import Change, SnapshotResult

EXAMPLES = """\b
Examples:
  metalbench snap
  metalbench snap --set attention --dtype float16
  metalbench snap softmax --write
  metalbench snap my_kernel --kernels ./my_kernels --file mine.json --write
"""


@click.command(epilog=EXAMPLES, short_help="Compare the bits of kernels' results with a snapshot.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names)
@click.option("--set", "set_name", metavar="SET", help=f"{SET_HELP} Without, all.")
@dtype_option(
    "dtypes",
    multiple=True,
    default=["all"],
    show_default=True,
    help="Element type; all takes every type that a kernel is written for. Repeatable.",
)
@click.option("--write", is_flag=True, help="Write the results to the file.")
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of snapshots; by default the library's, kernels/snapshots.json.",
)
@kernels_option
@click.pass_context
def snap(ctx: click.Context, /, names: tuple[str, ...], **options: Any) -> None:
    """Run kernels on the cpu device at their least size and compare bits with a file of hashes.

    Every task, with its families, in every element type. A bit that differs shows what a change of
    a kernel, a header or the engine has changed with it: if that is as it should be, --write it.
    Where inputs are drawn differently, by another NumPy, outputs are not compared.

    Exit codes: 0 all as before, or written; 1 some differ, fail or are not in the file, or could
    not be written because they fail; 2 wrong usage or environment; 130 interrupted.
    """
    from metalbench.kernel.library import ALL, find
    from metalbench.kernel.source_files import library_folder
    from metalbench.store.snapshot import Change, Snapshots, take_snapshots

    whole = not names and options["set_name"] is None
    entries = find(names, options["set_name"] or ALL, options["kernels"])
    cases = _cases(entries, options["dtypes"])
    path = options["file"] or library_folder() / "snapshots.json"
    fresh = options["write"] and not path.exists()
    known = Snapshots() if fresh else Snapshots.read(path)
    found = []
    for each in take_snapshots(cases):
        change = known.change(each)
        found.append((each, change))
        _tell(each, change, written=options["write"])
    counts = Counter(change for _, change in found)
    echo(", ".join(f"{counts[change]} {change.value}" for change in Change if counts[change]))
    if not options["write"]:
        ctx.exit(int(_fails(found)))
    known.keep(each for each, _ in found)
    if whole and "all" in options["dtypes"]:
        known.only((entry.name, dtype) for entry, dtype in cases)
    try:
        known.write(path)
    except OSError as error:
        raise CommandFailure(f"{path} cannot be written: {error.strerror}") from error
    echo(f"{len(known)} snapshots in {path}")
    ctx.exit(int(counts[Change.FAILED] > 0))


def _cases(entries: Sequence[Entry], dtypes: Sequence[str]) -> list[tuple[Entry, str]]:
    """Raises click.UsageError if no kernel is written for these types."""
    cases = [
        (entry, dtype)
        for entry in entries
        if not entry.unsolved
        for dtype in entry.kernel().dtypes
        if "all" in dtypes or dtype in dtypes
    ]
    if not cases:
        raise click.UsageError(f"no kernel is written for {', '.join(dtypes)}")
    return cases


def _fails(found: Sequence[tuple[SnapshotResult, Change]]) -> bool:
    from metalbench.store.snapshot import Change

    return any(change not in (Change.SAME, Change.OTHER_INPUTS) for _, change in found)


def _tell(each: SnapshotResult, change: Change, *, written: bool) -> None:
    """A line, as soon as it is known, for what is not as before; of what is written if it fails."""
    from metalbench.store.snapshot import Change

    if change is Change.SAME or (written and change is not Change.FAILED):
        return
    why = f": {each.fault}" if each.fault else ""
    echo(f"{each.task} {each.dtype}: {change.value}{why}")
