"""Measure the cost of a separate process for each kernel, against one process for all.

    python benchmarks/isolation.py [--runs N] [NAME...]

Whole runs of `metalbench run`, with and without --in-process in turn, warm caches; medians of wall
time and of processor time (of all processes) for each kernel, in seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

KERNELS = ("relu", "gelu", "softmax", "layer_norm", "argmax", "cumsum")
LIMIT_SECONDS = 0.3
Cost = tuple[float, float]


def run(*arguments: str) -> Cost:
    """Wall time and processor time of one command."""
    start, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "metalbench", "run", "--time", "0.1", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode not in (0, 1):
        sys.exit(answer.stderr)
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=KERNELS)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    names = [*options.names]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["METALBENCH_HOME"] = str(Path(folder))
        run(*names)
        costs: dict[str, list[Cost]] = {"one process for all": [], "a process for each": []}
        for _ in range(options.runs):
            costs["one process for all"].append(run(*names, "--in-process"))
            costs["a process for each"].append(run(*names))
    print(f"{len(names)} kernels, medians of {options.runs} runs, seconds for each kernel")
    print(f"{'':20} {'wall':>7} {'processor':>10}")
    medians = []
    for name, measured in costs.items():
        wall, used = (float(np.median(each)) / len(names) for each in zip(*measured, strict=True))
        medians.append((wall, used))
        print(f"{name:20} {wall:7.3f} {used:10.3f}")
    extra_wall, extra_used = (each - one for one, each in zip(*medians, strict=True))
    print(f"{'more':20} {extra_wall:7.3f} {extra_used:10.3f}  (at most {LIMIT_SECONDS} s of wall)")


if __name__ == "__main__":
    main()
