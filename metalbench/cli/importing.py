"""``metalbench import-torch``."""

from __future__ import annotations

from pathlib import Path

import click

from metalbench.report.console import echo

EXAMPLES = """\b
Examples:
  metalbench import-torch my_model.py
  metalbench import-torch 19_ReLU.py --name my_relu --into kernels
"""


@click.command("import-torch", epilog=EXAMPLES, short_help="Write the task of a PyTorch module.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--into",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("my_kernels"),
    show_default=True,
    metavar="DIR",
    help="Folder to write to; created if it does not exist.",
)
@click.option("--name", default="", metavar="NAME", help="Of the task; else the file's.")
def import_torch(file: Path, folder: Path, name: str) -> None:
    """Write the task of the PyTorch module in FILE: NAME.py, and a copy of FILE in the same folder.

    FILE has a class Model, get_inputs and get_init_inputs, as KernelBench's files. It is Python: it
    runs as you, here and whenever the task is used. Needs `pip install 'metalbench[kernelbench]'`.
    """
    from metalbench.kernelbench.pytorch.importing import import_module

    written = import_module(file, folder, name)
    task = written.path.stem
    echo(f"{written.path}: the module's sizes, parameters and steps")
    if written.why_not_mlx:
        echo(f"PyTorch is the reference; {written.why_not_mlx}", err=True)
    echo(f"Write {task}.metal in the same folder, then: metalbench run {task} --kernels {folder}")
