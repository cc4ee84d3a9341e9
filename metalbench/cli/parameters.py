"""Options that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from metalbench.kernel.library import Entry

Command = TypeVar("Command", bound=Callable[..., Any])
DTYPES = ("float32", "float16", "bfloat16")
SET_HELP = (
    "Only this set: common, standard, full; a family's, such as quantised or attention; families; "
    "all, which is all of these; or a suite's: kernelbench/level1, kernelbench."
)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def complete_names(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return names of tasks for the shell's completion."""
    from click.shell_completion import CompletionItem

    from metalbench.errors import MetalBenchError
    from metalbench.kernel.library import Library

    try:
        entries = [
            entry
            for entry in Library(ctx.params.get("kernels") or ())
            if entry.name.startswith(incomplete)
        ]
    except MetalBenchError:
        return []
    return [CompletionItem(entry.name, help=_description(entry)) for entry in entries]


def _description(entry: Entry) -> str:
    from metalbench.errors import TaskError

    try:
        return entry.description
    except TaskError:
        return "wrong task"


def device_option(command: Command) -> Command:
    """``--device``."""
    return click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "metal", "cuda"]),
        default="auto",
        show_default=True,
        help="Device that kernels run on; auto is the GPU of a Mac, or the simulation on the CPU. "
        "cuda is an NVIDIA GPU.",
    )(command)


def kernels_option(command: Command) -> Command:
    """``--kernels``, repeatable."""
    return click.option(
        "--kernels",
        type=FOLDER,
        multiple=True,
        metavar="DIR",
        help="Folder of your tasks and kernels, which precede the library's. Repeatable.",
    )(command)


def buffers_option(command: Command) -> Command:
    """``--buffers``."""
    return click.option(
        "--buffers",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE.npz",
        help="Inputs of a FILE.metal by the names of its arguments, as np.savez writes them.",
    )(command)


def include_option(command: Command) -> Command:
    """``--include``, repeatable."""
    return click.option(
        "--include",
        type=FOLDER,
        multiple=True,
        metavar="DIR",
        help='Folder to search for #include "...". Repeatable.',
    )(command)


def store_option(command: Command) -> Command:
    """``--db``."""
    return click.option(
        "--db",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The store of results; by default in $METALBENCH_HOME, or in your data folder.",
    )(command)


def kernel_options(command: Command) -> Command:
    """``--kernels``, ``--include``, ``--device`` and ``--db``."""
    for option in (store_option, include_option, kernels_option, device_option):
        command = option(command)
    return command


def dtype_option(*declarations: str, **attributes: Any) -> Callable[[Command], Command]:
    """``--dtype``; with `multiple` also all types at once."""
    choices = (*DTYPES, "all") if attributes.get("multiple") else DTYPES
    return click.option("--dtype", *declarations, type=click.Choice(choices), **attributes)


def seed_option(text: str, *, secret: bool = True) -> Callable[[Command], Command]:
    """``--seed``, with `text` as its help; without it a `secret` one, else 0."""
    return click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(min=0),
        default=_draw_secret_seed if secret else 0,
        show_default="another one in each run" if secret else True,
        help=text,
    )


def _draw_secret_seed() -> int:
    from metalbench.cli.secret_seed import draw_secret_seed

    return draw_secret_seed()


def time_option(default: float, text: str) -> Callable[[Command], Command]:
    """``--time`` in seconds, with `text` as its help."""
    return click.option(
        "--time",
        "seconds",
        type=click.FloatRange(min=0.01),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


def oracle_option(command: Command) -> Command:
    """``--oracle``."""
    return click.option(
        "--oracle",
        type=click.Choice(["all", "small"]),
        default="all",
        show_default=True,
        help="Sizes at which the float64 oracle is the judge. With small, MLX in float32 judges "
        "the timed size, before and after timing: at sizes for GPUs the oracle takes longest.",
    )(command)


def parse_share(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Parse 5% or 5 as 0.05."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *%?", value.strip())
    if parts is None:
        raise click.BadParameter(f"expected a share such as 5%, got {value}", ctx, parameter)
    return float(parts[1]) / 100


def writable(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Raise BadParameter for a file that cannot be written, before anything is measured."""
    if value is not None and str(value) != "-":
        folder = value.absolute().parent
        if not folder.is_dir():
            raise click.BadParameter(f"{folder} does not exist", ctx, parameter)
        if not os.access(value if value.exists() else folder, os.W_OK):
            raise click.BadParameter(f"{value} cannot be written", ctx, parameter)
    return value
