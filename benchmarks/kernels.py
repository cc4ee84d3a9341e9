"""How fast the cpu device runs kernels that synchronise, against MLX on the same machine.

    python benchmarks/kernels.py

The library's own sqr_mm, layer_norm and softmax; medians in ms over pairs in random order.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from metalbench import _core
from metalbench.kernel.library import find
from metalbench.kernel.prepare import compile_kernel
from metalbench.reference import Reference
from metalbench.task.workload import workload

CASES = {
    "sqr_mm": {"n": 1024},
    "layer_norm": {"rows": 4096, "cols": 1024},
    "softmax": {"rows": 4096, "cols": 1024},
}


def measure(device: _core.Device, name: str, size: dict[str, int]) -> _core.Samples:
    (entry,) = find([name])
    task = replace(entry.task, sizes={**entry.task.sizes, "benchmark": size})
    work = workload(task, "benchmark")
    bound = compile_kernel(device, entry.kernel(), task).bind(work)
    return device.sample(bound.dispatches, Reference(work), max_pairs=60, time_limit_ns=10e9)


def main() -> None:
    device = _core.open("cpu")
    table = Table(
        "kernel", "size", "cpu device", "MLX", title=f"{device.name}, {device.cores} cores"
    )
    for name, size in CASES.items():
        samples = measure(device, name, size)
        ours, mlx = np.median(samples.candidate_ns) / 1e6, np.median(samples.reference_ns) / 1e6
        table.add_row(name, str(size), f"{ours:.1f} ms", f"{mlx:.1f} ms")
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
