"""How much longer a counted run takes than a plain one with fibers: ten kernels of the library.

    python benchmarks/counted.py [SIZE]

The least of some runs each, one after the other: on a busy machine look at the median only.
"""

from __future__ import annotations

import os
import statistics
import sys
from time import perf_counter

from metalbench import _core
from metalbench.kernel.library import find
from metalbench.kernel.prepare import compile_kernel
from metalbench.task.workload import workload

NAMES = (
    "relu",
    "softmax",
    "layer_norm",
    "transpose_2d",
    "sqr_mm",
    "conv2d",
    "cumsum",
    "top_k",
    "matvec",
    "rope_embedding",
)
RUNS = 7


def least_s(name: str, size: str, *, counted: bool) -> float:
    """The shortest run of a kernel, in s."""
    device = _core.open("cpu")
    (entry,) = find([name], None, ())
    kernel = entry.kernel(device.chip)
    compiled = compile_kernel(device, kernel, entry.task, counted=counted)
    bound = compiled.bind(workload(entry.task, size, dtype_name="float32", seed=0))
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        device.run(bound.dispatches, time_limit=300)
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    """Print a table of ratios and their median."""
    os.environ["METALBENCH_ENGINE"] = "fibers"
    size = sys.argv[1] if len(sys.argv) > 1 else "small"
    ratios = []
    for name in NAMES:
        plain, counted = (least_s(name, size, counted=each) for each in (False, True))
        ratios.append(counted / plain)
        print(f"{name:16} {1e3 * plain:10.3f} ms {1e3 * counted:10.3f} ms {ratios[-1]:8.1f} x")
    print(f"{'median':16} {statistics.median(ratios):35.1f} x")


if __name__ == "__main__":
    main()
