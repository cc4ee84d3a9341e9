"""``metalbench export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.options import (
    complete_names,
    dtype_option,
    kernels_option,
    read_tunables,
)
from metalbench.report.console import echo

if TYPE_CHECKING:
    from metalbench.kernel.host_code import HostPlan

HOSTS = ("mlx", "objc", "swift")
EXAMPLES = """\b
Examples:
  metalbench export softmax --standalone
  metalbench export softmax --standalone --dtype float16 --tune TG=256 -o build
  metalbench export kv_append --standalone --host swift
  metalbench export qmv4 --standalone --host all -o my_app/kernels
"""


@click.command(epilog=EXAMPLES, short_help="Write a kernel as one file, for use elsewhere.")
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--standalone",
    is_flag=True,
    help="One file that needs no other: headers inlined, values in place of macros. It is the "
    "default, and the only form so far.",
)
@dtype_option(help="Element type; by default the kernel's first.")
@click.option(
    "--tune",
    "tunables",
    metavar="NAME=VALUE",
    multiple=True,
    callback=read_tunables,
    help="Value of a `// tune:` line, else the default for Apple's GPUs. Repeatable.",
)
@click.option(
    "--host",
    type=click.Choice((*HOSTS, "all")),
    help="Also write code that launches the kernel: mlx is a Python file for "
    "mx.fast.metal_kernel, objc is Objective-C++, swift is Swift.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="FOLDER",
    help="Folder to write NAME.metal to; created if it does not exist.  [default: here]",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@kernels_option
def export(name: str, **options: Any) -> None:
    """Write the kernel NAME as FOLDER/NAME.metal, which compiles without this program's headers.

    The headers are in it, without the declarations that the kernel does not use. DTYPE and all
    tunables have their values, so that the file is for one element type. Its header lines say how
    it is launched; it is a kernel of the same task, too. Before it is written it is compiled.

    Files that are there are replaced only with --force: one of them may be the kernel itself.
    """
    from metalbench.cli.output import write_text
    from metalbench.kernel.export import export_kernel
    from metalbench.kernel.host_code import plan_host_code
    from metalbench.kernel.library import find

    (entry,) = find([name], None, options["kernels"])
    kernel = entry.kernel().on(("metal",))
    chosen = dict(dtype_name=options["dtype"], tunables=options["tunables"])
    exported = export_kernel(kernel, **chosen)
    plan = plan_host_code(exported, entry.task)
    # All texts before the first file: an error leaves no half of the files.
    texts = {f"{name}.metal": exported.text, **_write_hosts(plan, options["host"])}
    folder = options["folder"]
    for path in (folder / file for file in texts):
        if path.exists() and not options["force"]:
            raise CommandFailure(
                f"{path} is there already; --force replaces it, -o FOLDER writes to another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        write_text(folder / file, text)
        echo(f"{folder / file}")


def _write_hosts(plan: HostPlan, host: str | None) -> dict[str, str]:
    """Return the texts of host code by file; of "all" those that can be, with a note on others."""
    from metalbench.errors import Unsupported
    from metalbench.kernel.host_code import HOSTS as WRITERS

    texts: dict[str, str] = {}
    for each in HOSTS if host == "all" else [host] if host else []:
        extension, write = WRITERS[each]
        try:
            texts[f"{plan.name}{extension}"] = write(plan)
        except Unsupported as error:
            if host != "all":
                raise
            echo(f"Left out: {error}", err=True)
    return texts
