"""Processor time of cold builds by stage: kernels of the library, and generated sources.

    python benchmarks/cold_builds.py [--every 10] [--lines 500,1000,2000] [--synchronise] [KIND...]
        [--warm]

Each kernel is built with an empty cache. With `--warm` a kernel of the library finds the
precompiled MSL headers in it, as all but the first kernels on a machine do. Processor time is that
of this process (`python`) and of each run of clang. `front` is clang's front end, which also
optimises the code of one lane. `passes` is a run of LLVM's passes alone, `back` a run that ends in
an object file. For the library the table has the median, the 90th percentile and the worst of each
stage. For generated sources (`generated_kernels.py`) it has a line for each kind and number of
lines, and the time relative to the number of lines: it falls or is constant where time is linear.
The first line has the imports of a new process, which no stage includes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.generated_kernels import KINDS, generate_source
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders
from metalbench.msl import engine
from metalbench.msl.toolchain import compile, preprocess

# What a process imports for its first build.
IMPORTS = (
    "metalbench.msl.engine",
    "metalbench.msl.toolchain.preprocess",
    "metalbench.msl.toolchain.compile_kernel",
    "metalbench.sandbox.compiler_process",
)
# Suffixes of a preamble and its precompiled header in the cache.
PRECOMPILED = (".h", ".pch")
STAGES = ("preprocess", "front", "passes", "back", "link", "python", "in all")


def name_stage(command: list[str]) -> str:
    """Return the stage of a run of clang or its linker."""
    if "-E" in command:
        return "preprocess"
    if "ir" in command:
        return "back" if "-c" in command else "passes"
    return "front" if "c++" in command or "c++-header" in command else "link"


@contextmanager
def stage_times() -> Iterator[dict[str, float]]:
    """Yield the seconds of processor time of each stage inside this context."""
    found: dict[str, float] = defaultdict(float)
    run = compile.run_tool

    def run_timed(command: list[str], *arguments: Any, **options: Any) -> Any:
        begin = _children_s()
        try:
            return run(command, *arguments, **options)
        finally:
            found[name_stage(command)] += _children_s() - begin

    begin = time.process_time()
    compile.run_tool = preprocess.run_tool = run_timed
    try:
        yield found
    finally:
        compile.run_tool = preprocess.run_tool = run
        found["python"] = time.process_time() - begin
        found["in all"] = sum(found.values())


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_build(
    source: str, function: str = "", **parsing: Any
) -> tuple[dict[str, float], engine.CompiledKernel]:
    """Return the stages' seconds of a build with an empty cache, and the kernel.

    Without `function` it is the first one of the source.
    """
    with tempfile.TemporaryDirectory() as cache:
        os.environ["METALBENCH_CACHE"] = cache
        with stage_times() as found:
            program = engine.parse(source, **parsing)
            built = engine.build(program, function or program.functions[0])
    return found, built


def time_warm_build(
    cache: Path, source: str, **parsing: Any
) -> tuple[dict[str, float], engine.CompiledKernel]:
    """Return the same as `time_build`, of a build that finds its precompiled headers in `cache`.

    The first two builds with a preamble store it and precompile it. They are not timed.
    """
    os.environ["METALBENCH_CACHE"] = str(cache)
    while True:
        files = [path for path in cache.rglob("*") if path.is_file()]
        before = {path for path in files if path.suffix in PRECOMPILED}
        for path in files:
            if path not in before and path.with_suffix(".pch") not in before:
                path.unlink()
        engine.find_toolchain().key  # noqa: B018 - also the same for all kernels
        with stage_times() as found:
            program = engine.parse(source, **parsing)
            built = engine.build(program, program.functions[0])
        if before == {path for path in cache.rglob("*") if path.suffix in PRECOMPILED}:
            return found, built


def time_imports() -> float:
    """Return the seconds of processor time of a new process's imports, from compiled bytecode."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder
        seconds = []
        for code in (f"import {', '.join(IMPORTS)}", f"import {', '.join(IMPORTS)}", "pass"):
            begin = _children_s()
            root = Path(__file__).resolve().parents[1]
            subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, check=True)
            seconds.append(_children_s() - begin)
    return seconds[1] - seconds[2]


def measure_library(every: int, *, warm: bool) -> None:
    """Print the median, the 90th percentile and the worst of each Nth kernel of the library."""
    rows, names = [], []
    with tempfile.TemporaryDirectory() as cache:
        for entry in [*Library()][::every]:
            kernel = entry.kernel()
            macros = {"DTYPE": "float", **{k: str(v[0]) for k, v in kernel.tunables.items()}}
            folders = tuple(map(str, include_folders(kernel.path, kernel.include_dirs)))
            parsing = {"filename": str(kernel.path), "macros": macros, "include_dirs": folders}
            if warm:
                found, _ = time_warm_build(Path(cache), kernel.source, **parsing)
            else:
                found, _ = time_build(kernel.source, **parsing)
            rows.append([found[stage] * 1e3 for stage in STAGES])
            names.append(kernel.path.stem)
    table = Table(f"{len(rows)} kernels, ms", *STAGES, box=None)
    times = np.array(rows)
    for label, percent in (("median", 50), ("p90", 90), ("worst", 100)):
        table.add_row(label, *(f"{each:.0f}" for each in np.percentile(times, percent, axis=0)))
    table.add_row("kernel of the worst", *(names[int(at)] for at in times.argmax(axis=0)))
    _print(table)


def measure_generated(kinds: tuple[str, ...], lines: list[int], *, synchronises: bool) -> None:
    """Print the stages of generated sources, and the milliseconds for each line."""
    table = Table("kind, s", "lines", *STAGES, "ms a line", "mode", "reason", box=None)
    for kind in kinds or KINDS:
        for count in lines:
            source = generate_source(kind, count, synchronises=synchronises)
            found, built = time_build(source, "k")
            seconds = [f"{found[stage]:.2f}" for stage in STAGES]
            relative = f"{found['in all'] * 1e3 / count:.2f}"
            table.add_row(kind, str(count), *seconds, relative, built.engine, built.reason)
    _print(table)


def _print(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else 200).print(table)


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice([*KINDS]))
@click.option("--every", default=10, show_default=True, help="Each Nth kernel of the library.")
@click.option(
    "--lines", default="500,1000,2000", show_default=True, help="Of generated sources; '' for none."
)
@click.option("--synchronise", is_flag=True, help="Generated kernels have a barrier.")
@click.option("--library/--no-library", default=True, help="Measure the library, too.")
@click.option("--warm", is_flag=True, help="The library finds precompiled MSL headers.")
def main(
    kinds: tuple[str, ...],
    every: int,
    lines: str,
    *,
    synchronise: bool,
    library: bool,
    warm: bool,
) -> None:
    """Print the processor time of cold builds by stage."""
    print(f"imports of a new process: {time_imports() * 1e3:.0f} ms")
    if library:
        measure_library(every, warm=warm)
    counts = [int(each) for each in lines.split(",") if each]
    if counts:
        measure_generated(kinds, counts, synchronises=synchronise)


if __name__ == "__main__":
    main()
