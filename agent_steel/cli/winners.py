"""``agent_steel export`` and ``plot``: what the attempts at a kernel came to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.config import MachineConfig
from metalbench.cli.machine import open_device
from metalbench.cli.on import on_option
from metalbench.cli.parameters import complete_names, dtype_option, kernel_options, writable
from metalbench.report.console import echo, echo_source

if TYPE_CHECKING:
    from agent_steel.history.lineage import Lineage
    from agent_steel.subject import Subject

TARGETS = ("speed", "compute", "memory", "stable", "balanced")
FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


def _select(command: Any) -> Any:
    """NAME, and which of its histories is meant."""
    for option in (
        kernel_options,
        on_option,
        dtype_option(default="float32", show_default=True, help="Element type."),
        click.option("--size", metavar="NAME", help="Size; else the device's headline."),
        click.argument("name", shell_complete=complete_names),
    ):
        command = option(command)
    return command


@click.command(short_help="Write the best version as a .metal file.")
@_select
@click.option(
    "--out", type=FILE, callback=writable, metavar="FILE", help="Where to; - is standard output."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="speed",
    show_default=True,
    help="By which the best is chosen: speed is the fastest, stable the steadiest.",
)
def export(name: str, out: Path | None, force: bool, **options: Any) -> None:
    """Write the best version of a kernel, its values of tunables as the defaults.

    Without --out it is written in place of the kernel's own file, which needs --force, or as the
    variant for this device's chip next to it.
    """
    from agent_steel.history.export import apply_attempt, file_name, text_of, write_attempt

    subject, lineage = _find(name, options)
    start = lineage.start(subject.key)
    if start is None:
        raise click.ClickException(
            f"the store has no attempts at {name} ({subject.dtype}, {subject.size}) as its file "
            f"is; `agent_steel --kernel-name {name} --loop` makes some"
        )
    best = lineage.best(lineage.root(start))
    if out is not None and str(out) == "-":
        echo_source(text_of(best), nl=False)
        return
    folder = subject.kernel.path.parent
    path = out or folder / file_name(name, subject.device.chip)
    if path.exists() and not force:
        raise click.ClickException(
            f"{path} exists already; --force replaces it, --out names another"
        )
    if out is None:
        path = apply_attempt(subject.entry, best, subject.device, options["kernels"])
    else:
        path = write_attempt(out, best)
    echo(f"Wrote attempt {best.number} to {path}")


@click.command(short_help="A picture of the best so far over rounds.")
@_select
@click.option(
    "--out",
    type=FILE,
    callback=writable,
    required=True,
    metavar="FILE",
    help="A file whose name ends in .svg or .png.",
)
def plot(name: str, out: Path, **options: Any) -> None:
    """Draw every attempt at a kernel by the gain that it had, and the best so far.

    Needs matplotlib: pip install 'metalbench[plot]'.
    """
    from agent_steel.history.plot import draw

    subject, lineage = _find(name, options)
    if not lineage.attempts:
        raise click.ClickException(
            f"the store has no attempts at {name} ({subject.dtype}, {subject.size}); "
            f"`agent_steel --kernel-name {name} --loop` makes some"
        )
    draw(lineage, f"{name} ({subject.dtype}, {subject.size}) on {subject.device.name}", out)
    echo(f"Wrote {out}")


def _find(name: str, options: dict[str, Any]) -> tuple[Subject, Lineage]:
    """Return the kernel as its file is, and all attempts at it on the device."""
    from agent_steel.cli.run import subjects_for
    from agent_steel.history import History
    from agent_steel.history.lineage import Lineage
    from agent_steel.target import Target
    from metalbench.store import Store, store_path

    asked = {**options, "kernel_names": (name,), "set_name": None, "everything": False}
    (subject,) = subjects_for(asked, open_device(MachineConfig.of(options)))
    with Store(store_path(options["db"])) as store:
        target = Target(options.get("target", Target.SPEED))
        return subject, Lineage(History(store).attempts(subject.place), target)
