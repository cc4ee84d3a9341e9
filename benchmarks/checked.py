"""How much longer a checked run takes than a plain one with fibers, and how much memory.

    python benchmarks/checked.py [SIZE [NAMES...]]

Without names, all kernels of the library; the default size is `small`. Each kernel runs in a
separate process. Times are the least of several runs; on a busy machine use only the median. Memory
is the peak of a process in its checked runs, including Python and clang.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import sys
from time import perf_counter

from metalbench import _core
from metalbench.checking.findings import TOOLS
from metalbench.kernel.library import find
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.task.workload import workload

RUNS = 3
TIME_LIMIT_S = 300.0


def bind_kernel(name: str, size: str, build: str) -> tuple[_core.Device, Bound]:
    """A device, and a kernel that is ready to run on it, as a plain, checked or counted build."""
    checked = build == "checked"
    device = _core.open("cpu")
    (entry,) = find([name], None, ())
    kernel = entry.kernel()
    made = compile_kernel(
        device,
        kernel,
        entry.task,
        dtype_name=kernel.dtypes[0],
        checked=checked,
        tools=TOOLS if checked else (),
        counted=build == "counted",
    )
    work = workload(entry.task, size, dtype_name=made.dtype.name, seed=0)
    return device, made.bind(work)


def least_s(name: str, size: str, build: str) -> float:
    """Return the shortest run of a kernel, in s."""
    device, ready = bind_kernel(name, size, build)
    run = device.check if build == "checked" else device.run
    times = []
    for _ in range(RUNS):
        ready.poison()
        start = perf_counter()
        run(ready.dispatches, time_limit=TIME_LIMIT_S)
        times.append(perf_counter() - start)
    return min(times)


def measure_builds(name: str, size: str, build: str) -> tuple[float, float, int]:
    """Plain time and that of the other build in s, and the most bytes that this process held."""
    plain, other = (least_s(name, size, each) for each in ("plain", build))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return plain, other, held * (1 if sys.platform == "darwin" else 1024)


def main(build: str = "checked") -> None:
    """Print a table of a build's ratios, their median, and the most memory."""
    os.environ["METALBENCH_ENGINE"] = "fibers"
    size = sys.argv[1] if len(sys.argv) > 1 else "small"
    names = sys.argv[2:] or [entry.name for entry in find()]
    ratios, most = [], 0
    context = multiprocessing.get_context("spawn")
    for name in names:
        with context.Pool(1) as pool:
            plain, other, held = pool.apply(measure_builds, (name, size, build))
        ratios.append(other / plain)
        most = max(most, held)
        print(
            f"{name:24} {1e3 * plain:10.3f} ms {1e3 * other:10.3f} ms {ratios[-1]:8.1f} x"
            f" {held / 2**20:8.0f} MiB",
            flush=True,
        )
    print(f"{'median':24} {statistics.median(ratios):37.1f} x {most / 2**20:8.0f} MiB at most")


if __name__ == "__main__":
    main()
