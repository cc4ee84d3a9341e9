"""How long kernels take to compile: our library's, and MLX's from the headers of its wheel.

    python benchmarks/compile_times.py [--every 1]

Each is compiled with an empty cache, with one where the MSL headers are precompiled by others like
it, and then found there, in one process, one after the other. Front end is the time until the list
of kernels is known; clang compiles the kernel after that. `--every N` selects each Nth kernel.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from mlx_kernels.families import FAMILIES
from mlx_kernels.wheel import OutOfReachError, headers

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders

KINDS = ("alone", "cold", "cached")
Steps = tuple[str, Callable[[], _core.Library], Callable[[_core.Library], object]]


def ours(device: _core.Device) -> Iterator[Steps]:
    """Yield the kernels of our library in float, with the first value of every tunable."""
    for entry in Library():
        kernel = entry.kernel()
        macros = {"DTYPE": "float", **{k: str(v[0]) for k, v in kernel.tunables.items()}}
        folders = include_folders(kernel.path, kernel.include_dirs)

        def parse(kernel=kernel, macros=macros, folders=folders) -> _core.Library:
            return device.compile(
                kernel.source, filename=str(kernel.path), macros=macros, include_dirs=folders
            )

        for function in parse().functions:
            yield function, parse, lambda library, name=function: library.pipeline(name)


def of_mlx(device: _core.Device, folder: Path) -> Iterator[Steps]:
    """Yield every instance of every family."""
    for family in FAMILIES:
        for instance in family.instances:
            yield (
                f"{family.name}/{instance.name}",
                lambda family=family: family.library(device, folder),
                lambda library, family=family, name=instance.host_name: library.pipeline(
                    name, constants=dict(family.constants)
                ),
            )


def milliseconds(function: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter_ns()
    value = function()
    return (time.perf_counter_ns() - start) / 1e6, value


def keep_headers(cache: Path) -> None:
    """Leave nothing in a cache but the headers that are precompiled, or will be the next time."""
    kept = {path.with_suffix("") for path in cache.rglob("*.h")}
    for path in cache.rglob("*"):
        if path.is_file() and path.with_suffix("") not in kept:
            path.unlink()


def time_kernel(parse: Callable, build: Callable, cache: Path) -> list[float]:
    """Both steps of a kernel alone, cold and cached, in a separate cache."""
    os.environ["METALBENCH_CACHE"] = str(cache)
    row = []
    for kind in KINDS:
        if kind == "cold":
            keep_headers(cache)
            build(parse())
            keep_headers(cache)
        front, library = milliseconds(parse)
        back, _ = milliseconds(lambda library=library: build(library))
        row += [front, back]
    return row


def report(title: str, kernels: list[Steps], cache: str) -> None:
    """Median and worst of the set."""
    rows = [(name, *time_kernel(parse, build, Path(cache, name))) for name, parse, build in kernels]
    times = np.array([row[1:] for row in rows])
    print(f"\n{title}: {len(rows)} kernels{'':24}median      worst")
    labels = [f"{kind}: {step}" for kind in KINDS for step in ("front end", "to the pipeline")]
    for column, label in enumerate(labels):
        worst = rows[int(np.argmax(times[:, column]))][0]
        median, most = np.median(times[:, column]), times[:, column].max()
        print(f"  {label:32}{median:8.1f} ms {most:8.1f} ms  {worst}")


@click.command()
@click.option("--every", default=1, show_default=True, help="Select each Nth kernel.")
def main(every: int) -> None:
    """Tell how long kernels of the library and of MLX take to compile."""
    device = _core.open("cpu")
    try:
        sets = {"the library": [*ours(device)], "MLX": [*of_mlx(device, headers())]}
    except OutOfReachError as problem:
        sys.exit(str(problem))
    with tempfile.TemporaryDirectory() as cache:
        for title, kernels in sets.items():
            report(title, kernels[::every], cache)


if __name__ == "__main__":
    main()
