"""Compare the time of the lints of `metalbench check --tool performance` with a compilation.

    python benchmarks/performance_lints.py [NAME...]

Processor time of this process and its children, the least of `--times` runs, for the kernels with
these names, by default ten of the library. A plain compilation is that of the `cpu` device for
every dispatched kernel of the file; both begin with the same parsed source and without caches of
results, and headers are precompiled before.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import click
from rich.console import Console
from rich.table import Table

from metalbench.checking.performance import lint_kernel
from metalbench.kernel.library import Entry, find
from metalbench.kernel.prepare import find_function_constants, source_options
from metalbench.msl import engine
from metalbench.msl.toolchain.clang import BuildOptions
from metalbench.msl.toolchain.compile_kernel import compile_kernel
from metalbench.task.dtypes import dtype

NAMES = (
    *("abs", "argmax", "softmax", "layer_norm", "sqr_mm", "conv2d", "cumsum", "matvec", "rms_norm"),
    "depthwise_conv2d",
)


def measure_s(run: Callable[[], object], times: int) -> float:
    """Return the least processor time of several runs, each with an empty cache, in seconds."""
    found = []
    for _ in range(times):
        before = os.times()
        run()
        after = os.times()
        found.append(sum(after[:4]) - sum(before[:4]))
    return min(found)


def compile_plainly(entry: Entry) -> None:
    """Compile every dispatched kernel of a file for the `cpu` device, without a cached result."""
    kernel = entry.kernel()
    dtype_name = kernel.dtypes[0]
    chosen = kernel.resolve_tunables(None, dtype=dtype_name)
    options = source_options(kernel, dtype(dtype_name), chosen)
    # Another text is not in the cache of objects.
    text = f"{kernel.source}\nconstant constexpr int run_{time.monotonic_ns()} = 0;\n"
    source = engine.parse(text, **options).source
    constants = find_function_constants(kernel, entry.task, options)
    build = BuildOptions("vectors", fast_math=kernel.math == "fast")
    for function in dict.fromkeys(line.function for line in kernel.dispatches):
        compile_kernel(source, function, constants, build)


def lint(entry: Entry) -> None:
    """Run the lints over the kernels of a file."""
    kernel, task = entry.kernel(), entry.task
    lint_kernel(kernel, task, task.gpu_headlines[0], dtype_name=kernel.dtypes[0])


@click.command()
@click.argument("names", nargs=-1)
@click.option("--times", default=2, show_default=True, help="Runs of each.")
def main(names: tuple[str, ...], times: int) -> None:
    """Print processor times and their ratio."""
    table = Table("kernel", "plain compile", "lints", "ratio")
    ratios = []
    for entry in find(list(names or NAMES), None, ()):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["METALBENCH_CACHE"] = folder
            for warm in (compile_plainly, lint) * 2:
                warm(entry)
            plain_s = measure_s(lambda entry=entry: compile_plainly(entry), times)
            lints_s = measure_s(lambda entry=entry: lint(entry), times)
        ratios.append(lints_s / plain_s)
        name = entry.task.name
        table.add_row(name, f"{plain_s:.2f} s", f"{lints_s:.2f} s", f"{ratios[-1]:.2f}")
    table.add_row("median", "", "", f"{statistics.median(ratios):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
