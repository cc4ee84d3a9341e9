"""``metalbench new``."""

from __future__ import annotations

from pathlib import Path

import click

from metalbench.cli.options import complete_names, kernels_option
from metalbench.report.console import echo

EXAMPLES = """\b
Examples:
  metalbench new my_kernel
  metalbench new my_softmax --like softmax
  metalbench new fused_norm --into kernels --set standard --like add_norm
"""


@click.command(epilog=EXAMPLES, short_help="Write a new task and a kernel that run.")
@click.argument("name")
@click.option(
    "--into",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("my_kernels"),
    show_default=True,
    metavar="DIR",
    help="Folder to write to; created if it does not exist.",
)
@click.option("--set", "set_name", metavar="SET", help="Set of the task: a folder within DIR.")
@click.option(
    "--like",
    metavar="TASK",
    help="Begin with the files of this task.",
    shell_complete=complete_names,
)
@kernels_option
def new(
    name: str, folder: Path, set_name: str | None, like: str | None, kernels: tuple[Path, ...]
) -> None:
    """Write the task NAME.py and its kernel NAME.metal, which run as they are.

    Change the task first: what is right (oracle), at which sizes, and MLX's way to do it. Then make
    the kernel fast.
    """
    from metalbench.errors import DeclarationError
    from metalbench.kernel.library import Library, scaffold

    library = Library(kernels)
    if name in library.names():
        raise DeclarationError(
            f"[{name}] the library has a task of that name, at "
            f"{library.entry(name).task_path}; `--like {name}` with another name begins with it"
        )
    task, kernel = scaffold(
        name,
        folder / set_name if set_name else folder,
        like=library.entry(like) if like else None,
    )
    echo(f"{task}: what is right, and at which sizes")
    echo(f"{kernel}: how it is computed")
    echo(f"Try it: metalbench run {name} --kernels {folder}")
