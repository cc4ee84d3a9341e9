"""How kernels run on the cpu device, counted: in loops, as vectors or as fibers, and why.

    python -m benchmarks.engine_ways [library] [mlx] [TESTS...]

`library` are the kernels of the library in all their types, `mlx` the families of MLX's kernels,
TESTS files or folders of tests, which are run for the kernels that they compile. Without any,
library and mlx. Checked builds are not counted: they always run as fibers.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console
from rich.table import Table

from metalbench import _core
from metalbench.errors import MetalBenchError
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.msl import engine

TESTS = Path(__file__).resolve().parents[1] / "tests"
Ways = dict[tuple[Any, ...], engine.CompiledKernel]


@contextmanager
def record_builds() -> Iterator[Ways]:
    """Yield every kernel that is built meanwhile, once; not those of checked builds.

    Nor those of tests that ask for fibers.
    """
    found: Ways = {}
    build = engine.build

    def recording(
        program: engine.MslProgram,
        function: str,
        constants: Mapping[str | int, Any] | None = None,
        **options: Any,
    ) -> engine.CompiledKernel:
        built = build(program, function, constants, **options)
        if not options.get("checked") and os.environ[engine.ENGINE_VARIABLE] == "vectors":
            given = sorted((constants or {}).items(), key=str)
            found[program.key, function, repr(given), repr(options)] = built
        return built

    engine.build = recording
    try:
        yield found
    finally:
        engine.build = build


def of_the_library(device: _core.Device) -> None:
    for entry in Library():
        kernel = entry.kernel()
        for dtype in kernel.dtypes:
            compile_kernel(device, kernel, entry.task, dtype_name=dtype)


def of_mlx(device: _core.Device) -> None:
    sys.path.insert(0, str(TESTS))
    from mlx_kernels.families import FAMILIES
    from mlx_kernels.wheel import headers

    for family in FAMILIES:
        for instance in family.instances:
            try:
                family.pipeline(device, headers(), instance)
            except MetalBenchError as error:
                print(f"{instance.name}: {error}", file=sys.stderr)


def of_tests(paths: Sequence[str]) -> None:
    """In this process; what the tests themselves find is not looked at."""
    pytest.main(["-n0", "-q", "-p", "no:cacheprovider", *paths])


def every_shape(ways: Ways) -> dict[str, str]:
    """Return the errors of building the entries of all launch shapes, by kernel."""
    wrong = {}
    for built in ways.values():
        if built.engine != "vectors":
            continue
        shapes = [(width, True) for width in built.widths] + [(max(built.widths), False)]
        for width, rows in shapes:
            try:
                built.entry(width, rows)
            except MetalBenchError as error:
                wrong[f"{built.name}, {width} {'along x' if rows else 'in any shape'}"] = str(error)
    return wrong


def counts(parts: dict[str, Ways]) -> Table:
    table = Table("kernels", box=None)
    for name in ("in all", "loops", "vectors", "fibers", "fibers, of those that synchronise"):
        table.add_column(name, justify="right")
    for part, ways in parts.items():
        by_way = {
            way: sum(built.engine == way for built in ways.values())
            for way in ("loops", "vectors", "fibers")
        }
        together = by_way["vectors"] + by_way["fibers"]
        share = f"{100 * by_way['fibers'] / together:.1f} %" if together else "-"
        table.add_row(part, str(len(ways)), *map(str, by_way.values()), share)
    return table


def reasons(parts: dict[str, Ways]) -> Table:
    """Return why kernels stay on fibers, the most frequent reason first, and their names."""
    kernels: dict[str, list[str]] = defaultdict(list)
    for part, ways in parts.items():
        for built in ways.values():
            if built.engine == "fibers":
                # Of frames that are too large: whatever their sizes.
                reason = re.sub(r"\d{5,}", "...", built.reason.replace(f"[{built.name}] ", ""))
                kernels[reason].append(f"{part}: {built.name}")
    table = Table("times", "why fibers", "which", box=None)
    for reason, names in sorted(kernels.items(), key=lambda each: -len(each[1])):
        table.add_row(str(len(names)), reason.splitlines()[0], ", ".join(dict.fromkeys(names)))
    return table


@click.command()
@click.argument("names", nargs=-1, metavar="[library] [mlx] [TESTS...]")
@click.option("--shapes", is_flag=True, help="Also build vectors for every shape of launch.")
def main(names: tuple[str, ...], shapes: bool) -> None:
    """Count how the kernels of the library, of MLX and of tests run, and tell why."""
    os.environ[engine.ENGINE_VARIABLE] = "vectors"
    device, parts = _core.open("cpu"), {}
    tests = [name for name in names if name not in ("library", "mlx")]
    for name, collect in (("library", of_the_library), ("mlx", of_mlx)):
        if name in names or not names:
            with record_builds() as parts[name]:
                collect(device)
    if tests:
        with record_builds() as parts["tests"]:
            of_tests(tests)
    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False)
    console.print(counts(parts))
    console.print(reasons(parts))
    if shapes:
        for part, ways in parts.items():
            for kernel, error in every_shape(ways).items():
                console.print(f"{part}: {kernel}: {error}")


if __name__ == "__main__":
    main()
