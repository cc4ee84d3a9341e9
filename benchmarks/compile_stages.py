"""Where the time goes while a kernel that synchronises is compiled, by stage.

    python benchmarks/compile_stages.py [--count 10] [--times 3] [--mlx] [NAME...]

Processor time of this process and its children, the least of several runs, to limit the effect of
other load. Without names: `count` kernels of the library (and of MLX), evenly spaced among all that
synchronise. With names: kernels whose name contains one of them. Headers are precompiled, as after
the first kernels of a process. The lanes of the launch are along x.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders
from metalbench.msl.frontend.lower import lower
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain import compile_kernel, preprocess
from metalbench.msl.toolchain.clang import (
    LANE_FLAGS,
    VECTOR_FLAGS,
    find_toolchain,
    list_disabled_passes,
    list_flags,
)
from metalbench.msl.toolchain.compile import MessageTranslator, assemble, generate_ir
from metalbench.msl.toolchain.symbols import explain_unknown
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module

STAGES = ("parse", "lower", "clang of a lane", "vectorise", "back end and link", "in all")


@dataclass(frozen=True)
class Kernel:
    """The source of a kernel and its options."""

    name: str
    source: str
    filename: str
    macros: dict[str, str]
    folders: tuple[str, ...]
    function: str
    constants: dict[str | int, Any]
    fast_math: bool = True


def of_the_library() -> Iterator[Kernel]:
    """In float, with the first value of every tunable."""
    for entry in Library():
        kernel = entry.kernel()
        macros = {"DTYPE": "float", **{k: str(v[0]) for k, v in kernel.tunables.items()}}
        folders = tuple(map(str, include_folders(kernel.path, kernel.include_dirs)))
        source = preprocess.parse(kernel.source, str(kernel.path), macros, folders)
        for function in source.entry_points:
            yield Kernel(
                function,
                kernel.source,
                str(kernel.path),
                macros,
                folders,
                function,
                {},
                fast_math=kernel.math == "fast",
            )


def of_mlx() -> Iterator[Kernel]:
    """Yield every instance of every family."""
    from mlx_kernels.families import FAMILIES
    from mlx_kernels.wheel import headers

    folder = headers()
    for family in FAMILIES:
        for each in family.instances:
            yield Kernel(
                f"{family.name}/{each.name}",
                family.source,
                f"{family.name}.metal",
                {},
                (str(folder),),
                each.host_name,
                dict(family.constants),
                fast_math=False,
            )


def processor_ms(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor time of a function and its child processes, and its value."""
    begun = _used_s()
    value = function()
    return (_used_s() - begun) * 1e3, value


def _used_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def stages(kernel: Kernel) -> tuple[list[float], int] | None:
    """The times of all stages in ms, and the lines of IR; None of what does not synchronise."""
    tools = find_toolchain()
    given = (kernel.source, kernel.filename, kernel.macros, kernel.folders)
    parsing, source = processor_ms(lambda: preprocess.parse(*given))
    lowering, lowered = processor_ms(lambda: lower(source, kernel.function, kernel.constants))
    if not lowered.needs_fibers:
        return None
    kind = {"checked": False, "fast_math": kernel.fast_math}
    front = list_flags(**kind, spaces=lowered.spaces, passes=LANE_FLAGS)
    translate = MessageTranslator(linker=explain_unknown)
    for _ in range(2):  # the second of two leaves the precompiled headers
        generate_ir(lowered.code, tools, front, translate)
    one, lane = processor_ms(lambda: generate_ir(lowered.code, tools, front, translate))
    with tempfile.NamedTemporaryFile(suffix=".ll") as kept:
        Path(kept.name).write_text(lane)
        launch = LaunchShape(compile_kernel.list_widths(Path(kept.name))[0], rows=True)
    writing, module = processor_ms(lambda: vectorize_module(lane, launch))
    back = [*list_flags(**kind, passes=VECTOR_FLAGS), *list_disabled_passes(tools)]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernel.so"
        making, _ = processor_ms(lambda: assemble(module, target, tools, translate, back))
    times = [parsing, lowering, one, writing, making]
    return [*times, sum(times)], module.count("\n")


def select_kernels(names: tuple[str, ...], count: int, *, mlx: bool) -> list[Kernel]:
    """Return the kernels to measure."""
    found = [*of_the_library(), *(of_mlx() if mlx else ())]
    if names:
        return [each for each in found if any(name in each.name for name in names)]
    found = [each for each in found if _synchronises(each)]
    count = min(count, len(found))
    return [found[len(found) * at // count] for at in range(count)]


def _synchronises(kernel: Kernel) -> bool:
    given = (kernel.source, kernel.filename, kernel.macros, kernel.folders)
    return lower(preprocess.parse(*given), kernel.function, kernel.constants).needs_fibers


@click.command()
@click.argument("names", nargs=-1)
@click.option("--count", default=10, show_default=True)
@click.option("--times", default=3, show_default=True)
@click.option("--mlx", is_flag=True, help="MLX's kernels, too.")
def main(names: tuple[str, ...], count: int, times: int, *, mlx: bool) -> None:
    """Tell how long each stage takes, for some kernels, and the medians."""
    table = Table("kernel", *STAGES, "lines of IR", box=None)
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["METALBENCH_CACHE"] = cache
        for kernel in select_kernels(names, count, mlx=mlx):
            try:
                found = [each for _ in range(times) if (each := stages(kernel)) is not None]
            except IrError as error:
                print(f"{kernel.name}: {error}", file=sys.stderr)
                continue
            if not found:
                continue
            least = np.min([each for each, _ in found], axis=0)
            rows.append(least)
            table.add_row(kernel.name, *(f"{each:.0f}" for each in least), str(found[0][1]))
    if rows:
        medians = np.median(rows, axis=0)
        table.add_row("median", *(f"{each:.0f}" for each in medians), style="bold")
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)


if __name__ == "__main__":
    main()
