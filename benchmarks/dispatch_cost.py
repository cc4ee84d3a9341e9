"""What one timed dispatch costs beyond its own work, on the cpu device.

    python benchmarks/dispatch_cost.py

An empty kernel in windows of many dispatches, at several grids; against one wake-up of a thread
pool, which is what a dispatch that is not part of a window would pay.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from metalbench import _core

KERNEL = "kernel void empty(device float* x) {}"


def main() -> None:
    device = _core.open("cpu")
    pipeline = device.compile(KERNEL).pipeline()
    x = np.zeros(4, np.float32)
    with ThreadPoolExecutor(1) as pool:

        def wake_up(passes: int) -> None:
            for _ in range(passes):
                pool.submit(int).result()

        for threadgroups in (1, 16, 256):
            dispatch = _core.Dispatch(pipeline, {"x": x}, threadgroups=threadgroups, threads=32)
            samples = device.sample([dispatch], wake_up, max_pairs=100)
            ours, pooled = np.median(samples.candidate_ns), np.median(samples.reference_ns)
            print(
                f"{threadgroups:4} threadgroups: {ours / 1e3:6.3f} us a dispatch, "
                f"{pooled / 1e3:6.1f} us a wake-up"
            )


if __name__ == "__main__":
    main()
